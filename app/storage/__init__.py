"""Conversations, runs, keys and limits in a database."""
