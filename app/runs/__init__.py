"""Runs: generations that continue whether or not a client is connected, and the log of their events."""
