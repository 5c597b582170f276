"""Tokenizers: from text to ids and back."""
