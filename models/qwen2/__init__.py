"""Qwen2 and Qwen2.5: the shape of the shared decoder."""
