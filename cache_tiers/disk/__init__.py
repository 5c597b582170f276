"""A disk as a tier below CPU memory: one file per block."""
