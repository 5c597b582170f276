"""Bodies of requests, and responses to errors."""
