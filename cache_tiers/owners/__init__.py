"""Keys of blocks, whose they are, and how tenants share a tier."""
