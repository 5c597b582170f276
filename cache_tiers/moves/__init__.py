"""Movement of blocks between the tiers."""
