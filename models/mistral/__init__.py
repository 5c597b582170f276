"""Mistral: the shape of the shared decoder."""
