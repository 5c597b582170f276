"""Attention over paged KV: one backend for each kind of device."""
