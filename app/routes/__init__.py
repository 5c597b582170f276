"""Routes: each parses a request, calls a service and writes the response."""
