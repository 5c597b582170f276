"""Sampling: the same tokens for the same logits, parameters and position."""
