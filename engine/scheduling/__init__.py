"""Scheduling: which requests compute how many tokens in the next step."""
