"""The Llama family, which the shared decoder runs."""
