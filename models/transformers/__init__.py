"""CausalLM over the modeling code of the transformers library."""
