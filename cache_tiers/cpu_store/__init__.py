"""The CPU tier's store, LMCache."""
