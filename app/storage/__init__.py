"""Conversations, runs, keys and limits in one SQLite file."""
