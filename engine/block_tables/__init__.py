"""Which request holds which KV blocks."""
