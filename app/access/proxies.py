"""Detection of proxies in front of a server without keys.

A server without keys is meant for clients on its own machine, but a proxy gives access to others. A proxy that adds no
forwarding header and sends a local host name cannot be distinguished from a local client.
"""

import logging

from starlette.datastructures import Headers

logger = logging.getLogger(__name__)

FORWARDING_HEADERS = ("forwarded", "via", "x-real-ip")
FORWARDING_PREFIX = "x-forwarded-"


def forwarding_header(headers: Headers) -> str | None:
    """Return the name of a header that only proxies add; None if there is none."""
    for name in headers.keys():  # noqa: SIM118 - iterating gives Any
        if name in FORWARDING_HEADERS or name.startswith(FORWARDING_PREFIX):
            return name
    return None


class KeylessProxyCheck:
    """Refusal of proxied requests while the server requires no keys. The first such request is logged."""

    def __init__(self, *, is_open_by_choice: bool) -> None:
        """Create the check.

        is_open_by_choice: whether the operator admits everyone (`--without-keys`). Such a server only logs proxies.
        """
        self._is_open_by_choice = is_open_by_choice
        self._warned = False

    def refusal(self, headers: Headers) -> str | None:
        """Return the reason to refuse a request with these headers; None if the request may pass."""
        name = forwarding_header(headers)
        if name is None:
            return None
        if self._is_open_by_choice:
            self._warn(
                "the header %s shows that a proxy is in front, and --without-keys serves every client that the "
                "proxy lets through",
                name,
            )
            return None
        self._warn(
            "a request with the header %s was refused: behind a proxy, create a key with `ebb keys create NAME`", name
        )
        return (
            f"This server has no keys, so it serves its own machine only, and the header {name} shows that a "
            "proxy forwarded this request. Create a key with `ebb keys create NAME`, or start with "
            "--without-keys to serve every client that the proxy lets through."
        )

    def _warn(self, text: str, name: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(text, name)
