"""Adapters (LoRA): folders in PEFT's format, their identity, and the matrices in them."""
