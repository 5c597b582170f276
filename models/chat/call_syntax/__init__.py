"""Syntaxes of tool calls, one module per model family, and the registry that chooses one for a model."""
