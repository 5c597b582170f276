"""Conversion of GGUF files to model folders."""
