"""Leases of other servers, as this server sees them renewed on a clock of its own.

A lease has expired once looks that follow each other closely have shown no renewal for LEASE_SECONDS. So neither a step
of a clock nor an outage of the database ends a lease: after an outage, all leases have the full time again.
"""

from collections.abc import Mapping
from typing import Final

from app.storage.servers import LEASE_SECONDS

LATE_SECONDS: Final = LEASE_SECONDS / 2
"""Longest time between two looks that follow each other closely."""


class LeaseWatch:
    """Numbers of renewals of other servers, and when each was seen first. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, float]] = {}
        self._looked_at = float("-inf")

    def note(self, renewals: Mapping[str, int], now: float) -> set[str]:
        """Note the renewals of all live servers, as a look that ended at `now` showed them.

        Returns the servers that have renewed their lease since the look before.
        """
        before = self._seen
        renewed = {server for server, count in renewals.items() if server in before and before[server][0] != count}
        is_late = now - self._looked_at > LATE_SECONDS
        self._seen = {
            server: (count, now if is_late or server not in before or server in renewed else before[server][1])
            for server, count in renewals.items()
        }
        self._looked_at = now
        return renewed

    def expired(self, now: float) -> dict[str, int]:
        """Return the servers whose lease has expired at `now`, each with its last number of renewals."""
        if now - self._looked_at > LATE_SECONDS:
            return {}
        return {server: count for server, (count, since) in self._seen.items() if now - since >= LEASE_SECONDS}
