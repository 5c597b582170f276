"""Memory for the bodies of requests: each tenant has a bound on what all of its bodies take together."""

from collections import Counter
from typing import Final

from app.config.sizes import format_size
from engine.api.errors import OverloadedError

MOST_OF_ONE: Final = 256 << 20
"""Bytes of all bodies of one tenant that are being read or used: four files to import."""

STATE: Final = "body_memory"
"""Key in the scope's state: the BodyMemory of a request whose tenant is known."""


class BodyMemory:
    """Memory for the body of one request. Close it when the request ends."""

    __slots__ = ("_held", "_num_bytes", "_tenant")

    def __init__(self, held: Counter[str], tenant: str) -> None:
        """Begin with no memory.

        held: bytes of all bodies, by tenant.
        """
        self._held = held
        self._tenant = tenant
        self._num_bytes = 0

    def grow(self, num_bytes: int) -> None:
        """Take memory for more bytes of the body. Raise OverloadedError if the tenant has too many."""
        if self._held[self._tenant] + num_bytes > MOST_OF_ONE:
            raise OverloadedError(
                f"The requests of this tenant have more than {format_size(MOST_OF_ONE)} of bodies together. Retry in "
                "2 s.",
                retry_after=2,
            )
        self._held[self._tenant] += num_bytes
        self._num_bytes += num_bytes

    def close(self) -> None:
        """Give all memory back. The body is not used any longer."""
        self._held[self._tenant] -= self._num_bytes
        self._num_bytes = 0
        if not self._held[self._tenant]:
            del self._held[self._tenant]
