"""Loopback addresses: reached from this machine only."""

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Return whether a socket bound to `host` is reached from this machine only."""
    return host in LOOPBACK_NAMES or host.startswith("127.")
