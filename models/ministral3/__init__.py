"""Ministral 3: the shape of the shared decoder."""
