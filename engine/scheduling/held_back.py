"""Requests that wait until blocks of their own tenant have gone down: a tenant that outruns its copies slows itself.

A request in the queue is held back while its blocks would push out blocks that are on their way to Redis. The next
step copies those down at once, so the wait is a step or two. No wait is longer than `MOST_HELD_BACK_SECONDS`, whatever
the tiers do. Requests do not wait while Redis is away or while loading a block would be dearer than computing it.
"""

from typing import Final

from engine.request import Request
from engine.scheduling.tiering import Tiering

MOST_HELD_BACK_SECONDS: Final = 1.0
"""Longest wait of a request, counted from the first step that held it back."""


class HeldBack:
    """Decides which waiting requests a step holds back. `tiering` is None where the device is the only tier."""

    def __init__(self, tiering: Tiering | None) -> None:
        self._tiering = tiering
        self._holds_any = False

    def take_any(self) -> bool:
        """Tell whether a request was held back since the last call: then copies down are urgent."""
        holds_any, self._holds_any = self._holds_any, False
        return holds_any

    def holds(self, request: Request, now: float) -> bool:
        """Tell whether `request` is to wait. No request of another tenant waits for it."""
        if self._tiering is None or request.is_fork or not self._tiering.would_lose(request):
            return False
        if request.held_back_since is None:
            request.held_back_since = now
        if now - request.held_back_since >= MOST_HELD_BACK_SECONDS:
            return False
        self._holds_any = True
        return True
