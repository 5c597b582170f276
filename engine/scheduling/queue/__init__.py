"""Queues of waiting requests: one module for each policy."""
