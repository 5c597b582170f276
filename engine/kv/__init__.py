"""KV blocks of the device: the pool, its owners, and the prefixes that can be found in it."""
