"""The `ebb` command: one module for each subcommand that has no separate package."""
