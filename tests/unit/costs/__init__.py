"""The cost of what strangers send grows in proportion to its size: one row for each parser, by topic."""
