"""Keyless servers and proxies: without keys a server is for its own machine, and a proxy brings others to it.

No server can tell a local client from a proxy that adds none of these headers and sends a name of this machine.
"""

import logging

from starlette.datastructures import Headers

logger = logging.getLogger(__name__)

FORWARDING_HEADERS = ("forwarded", "via", "x-real-ip")
FORWARDING_PREFIX = "x-forwarded-"


def forwarding_header(headers: Headers) -> str | None:
    """Find a header that only proxies add; None if there is none."""
    for name in headers.keys():  # noqa: SIM118 - iterating gives Any
        if name in FORWARDING_HEADERS or name.startswith(FORWARDING_PREFIX):
            return name
    return None


class KeylessProxyCheck:
    """Refusal of requests that came through a proxy, while no keys are demanded. The log says so once."""

    def __init__(self, *, is_open_by_choice: bool) -> None:
        """Take whether the operator lets everyone in (`--without-keys`)."""
        self._is_open_by_choice = is_open_by_choice
        self._warned = False

    def refusal(self, headers: Headers) -> str | None:
        """Say why a request to a keyless server is refused; None if the request may pass."""
        name = forwarding_header(headers)
        if name is None:
            return None
        if self._is_open_by_choice:
            self._warn("%s shows a proxy in front, and --without-keys lets in everyone that the proxy lets in", name)
            return None
        self._warn("a request with %s was refused: behind a proxy, make a key with `ebb keys create NAME`", name)
        return (
            f"This server has no keys, so it serves its own machine only, and the header {name} shows that a proxy "
            "passed this request on. Make a key with `ebb keys create NAME`, or start with --without-keys to let in "
            "everyone that the proxy lets in."
        )

    def _warn(self, text: str, name: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(text, name)
