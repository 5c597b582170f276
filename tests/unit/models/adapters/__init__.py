"""Adapters in folders."""
