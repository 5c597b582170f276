"""Processes, their sockets, limits and garbage collection."""
