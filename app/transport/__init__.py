"""Connections: HTTP, TLS, and server-sent events from the engine's step to the socket."""
