"""From a caller's request to the scheduler's: checks, keys of the prefix, tenants."""
