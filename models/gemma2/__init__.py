"""Gemma 2: the shape of the shared decoder."""
