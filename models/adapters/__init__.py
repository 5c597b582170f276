"""Adapters, of LoRA and of prompts: folders in PEFT's format, their identity, and the matrices in them."""
