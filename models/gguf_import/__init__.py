"""GGUF files of the Llama architecture to model folders."""
