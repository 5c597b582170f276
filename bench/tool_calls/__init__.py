"""Comparison of how Ebb and vLLM read tool calls out of answers."""
