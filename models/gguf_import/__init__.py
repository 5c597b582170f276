"""Conversion of GGUF files of the Llama architecture to model folders."""
