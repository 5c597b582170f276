"""Layout of KV blocks in memory."""
