"""Backpressure on tenants that produce blocks faster than the blocks can be offloaded.

A queued request is held back while its blocks would evict blocks of its own tenant that are still on their way to a
lower tier. The next step copies those blocks first, so the wait lasts a step or two. `MAX_HELD_BACK_SECONDS` limits the
wait regardless of the state of the tiers. Requests are not held back while no lower tier is available, or while loading
a block would cost more than recomputing it.
"""

from typing import Final

from engine.offload.interface import TierConnector
from engine.request.request import Request

MAX_HELD_BACK_SECONDS: Final = 1.0
"""Maximum wait of a request in seconds, counted from the first step that held it back."""


class HeldBack:
    """Decisions on the waiting requests that a step holds back."""

    def __init__(self, connector: TierConnector) -> None:
        """Create the policy.

        connector: connection to the tiers below the device. Without any, no request is held back.
        """
        self._connector = connector
        self._holds_any = False

    def take_any(self) -> bool:
        """Return whether a request was held back since the last call, which makes offloading urgent."""
        holds_any, self._holds_any = self._holds_any, False
        return holds_any

    def holds(self, request: Request, now: float) -> bool:
        """Return whether `request` is held back at `now`. Requests of other tenants do not wait for it."""
        if request.is_fork or not self._connector.would_lose(request):
            return False
        if request.held_back_since is None:
            request.held_back_since = now
        if now - request.held_back_since >= MAX_HELD_BACK_SECONDS:
            return False
        self._holds_any = True
        return True
