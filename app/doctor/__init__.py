"""`ebb doctor`: checks of a machine and of its settings."""
