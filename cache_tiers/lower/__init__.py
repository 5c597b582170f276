"""Common parts of all tiers below the CPU tier."""
