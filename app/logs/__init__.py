"""Log lines: their formats, and the log of requests."""
