"""Ministral: the shape of the shared decoder."""
