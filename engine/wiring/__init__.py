"""Construction of an engine from its configuration."""
