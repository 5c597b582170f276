"""Movement of KV blocks between the device and the tiers below it."""
