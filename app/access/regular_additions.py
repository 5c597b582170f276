"""Regular additions of what this process counts to sums that the database stores.

No count is lost or added twice. A count that could not be added is added later. If the database has not confirmed
whether a count was added, it waits until the database says so. Counts in doubt at the end of the process do not count
again.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from typing import Final, Generic, TypeVar

from app.domain.storage_health import CommitUnknownError

K = TypeVar("K")
V = TypeVar("V")

logger = logging.getLogger(__name__)


class RegularAdditions(ABC, Generic[K, V]):
    """Owner of the task that adds the counts, and of the counts in doubt."""

    NAME: str
    """The sums, in the words of the log."""

    def __init__(self) -> None:
        self.lock: Final = asyncio.Lock()
        """Held while counts are added."""
        self._doubts: list[tuple[Mapping[K, V], CommitUnknownError]] = []
        self._saving: asyncio.Task[None] | None = None
        self._is_failing = False

    def begin(self) -> None:
        """Start to add the counts regularly."""
        self._saving = asyncio.create_task(self._save_often(), name=f"save {self.NAME}")

    async def stop(self) -> None:
        """Add the counts for the last time."""
        if self._saving is not None:
            # Cancelling a write would leave open whether the counts are stored.
            async with self.lock:
                self._saving.cancel()
                with suppress(asyncio.CancelledError):
                    await self._saving
        await self.save()

    async def save(self) -> None:
        """Add what was counted since the last call. A count that cannot be added is logged, and added later."""
        async with self.lock:
            self.settle_doubts()
            counted = self.take()
            try:
                await self.add(counted)
            except Exception as error:
                if isinstance(error, CommitUnknownError):
                    self._doubts.append((counted, error))
                else:
                    self.give_back(counted)
                # A full disk: the counts are stored once there is room.
                if not self._is_failing:
                    logger.warning("%s cannot be stored yet: %s", self.NAME, error)
                self._is_failing = True
            else:
                self._is_failing = False

    def settle_doubts(self) -> None:
        """Give the counts back that are known not to be added, and forget those that are."""
        settled = [each for each in self._doubts if each[1].is_stored.done()]
        self._doubts = [each for each in self._doubts if not each[1].is_stored.done()]
        for counted, error in settled:
            if not error.is_stored.result():
                self.give_back(counted)

    async def _save_often(self) -> None:
        while True:
            await asyncio.sleep(self.seconds())
            await self.save()

    @abstractmethod
    def seconds(self) -> float:
        """Return the time until the next addition. A crash loses the counts of this time."""

    @abstractmethod
    def take(self) -> Mapping[K, V]:
        """Return what was counted since the last call."""

    @abstractmethod
    def give_back(self, counted: Mapping[K, V]) -> None:
        """Take counts back that were not added."""

    @abstractmethod
    async def add(self, counted: Mapping[K, V]) -> None:
        """Add counts to the stored sums. Raise CommitUnknownError if they may have been added, or another error."""
