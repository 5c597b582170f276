"""Qwen3: the shape of the shared decoder."""
