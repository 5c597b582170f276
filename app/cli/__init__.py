"""The `ebb` command: one module for each subcommand that has no package of its own."""
