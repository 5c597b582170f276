"""Tenants' use of their limits, carried over a restart and shared with other servers.

New use is added to the stored debts every few seconds. Where there are other servers, their use comes back with it, so
all of them together keep a tenant to its limits, except for the use of the last SHARE_SECONDS.
"""

from collections.abc import Callable, Mapping
from typing import Final

from app.access.regular_additions import RegularAdditions
from app.storage.owed_use import OwedUseStore
from app.tenants.gate import TenantGates
from app.tenants.token_bucket import OwedUse

SAVE_SECONDS: Final = 2.0
SHARE_SECONDS: Final = 1.0
"""The same where there are other servers."""


class RateLimitSync(RegularAdditions[str, OwedUse]):
    """Debts of the tenants to their limits. While they cannot be stored, the limits hold until a restart."""

    NAME = "the use that counts against tenants' limits"

    def __init__(self, gates: TenantGates, store: OwedUseStore, is_alone: Callable[[], bool] = lambda: True) -> None:
        """Prepare to store the debts.

        is_alone: whether no other server uses the database.
        """
        super().__init__()
        self._gates = gates
        self._store = store
        self._is_alone = is_alone

    def seconds(self) -> float:
        """Return the time between two additions."""
        return SAVE_SECONDS if self._is_alone() else SHARE_SECONDS

    def take(self) -> Mapping[str, OwedUse]:
        """Return the use that is not in the stored debts."""
        return self._gates.take_added()

    def give_back(self, counted: Mapping[str, OwedUse]) -> None:
        """Count use again that was not stored."""
        self._gates.give_back(counted)

    async def add(self, counted: Mapping[str, OwedUse]) -> None:
        """Add use to the stored debts, and learn the use at other servers."""
        if counted or not self._is_alone():
            self._gates.settle(await (self._store.add(counted) if counted else self._store.all()))
