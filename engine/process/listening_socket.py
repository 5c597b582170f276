"""Listening TCP sockets bound to one local address."""

import socket


def listen_on(host: str) -> socket.socket:
    """Return a socket that listens on any free port of the address `host`, of IPv4 or IPv6. Raise OSError."""
    return socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
