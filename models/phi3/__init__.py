"""Phi-3 and Phi-4: the shape of the shared decoder."""
