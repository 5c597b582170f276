"""Sealed answers of clients that send whole conversations: the hot ones in memory, all of them in the store.

Answers are written in the background, in batches. A server that is killed loses the answers of its last moment, which
then have to be computed again. A store that fails costs the same.

Memory and store are divided among the tenants by weight. A tenant with many answers evicts its own, and may use space
that other tenants leave free.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from math import inf

from app.storage.answers import AnswerStore, SealedAnswer
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.shares import OwnedKeys
from cache_tiers.tier import BLOCK_TTL_SECONDS

HOT_BYTES = 4 << 20
ENTRY_BYTES = 360
"""Memory of a hot answer besides its sealed ids: its name, its time, and its place among the others."""
MAX_BYTES = 256 << 20
"""Maximum size of the answers in the store: 64 million tokens at 4 bytes each."""

MAX_AGE_SECONDS = BLOCK_TTL_SECONDS
"""Seconds since its last use after which an answer expires. By then its KV has left every tier."""

USE_SECONDS = 3600.0
"""Minimum seconds between two updates of an answer's time of last use."""

FIND_SECONDS = 0.5
"""Time for which a prompt or the end of an answer waits for the store, which may hang."""

SAVE_SECONDS = 0.25
TRIM_SECONDS = 60.0

logger = logging.getLogger(__name__)


class AnswerMemory:
    """Owner of the hot answers and of those that are not written yet.

    owners: names and weights of the tenants.
    """

    def __init__(
        self,
        store: AnswerStore,
        owners: Owners,
        *,
        hot_bytes: int = HOT_BYTES,
        max_bytes: int = MAX_BYTES,
        save_seconds: float = SAVE_SECONDS,
    ) -> None:
        """Make a memory over the answers in `store`.

        hot_bytes: most memory that the hot answers take.
        max_bytes: maximum size of the answers in the store.
        save_seconds: time between two writes.
        """
        self.owners = owners
        self._store = store
        self._max_hot_bytes = hot_bytes
        self._max_bytes = max_bytes
        self._save_seconds = save_seconds
        self._hot: OwnedKeys[bytes, SealedAnswer] = OwnedKeys(owners)
        self._new: dict[bytes, SealedAnswer] = {}
        self._used: dict[bytes, float] = {}
        self._saver: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self._trimmed = -inf

    @property
    def hot_bytes(self) -> int:
        """Memory that the hot answers take."""
        return self._hot.size

    async def find(self, names: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the remembered answers among `names`, the answers of one conversation in order, by name."""
        found = {name: hot for name in names if (hot := self._hot.get(name)) is not None}
        if len(found) < len(names):
            found |= await self._stored([name for name in names if name not in found])
        now = time.time()
        # An answer is of use only along with those before it: touch it first, so that it is evicted first.
        for name in reversed(names):
            if name in found:
                self._use(name, found[name], now)
        return {name: answer.sealed for name, answer in found.items()}

    def keep(self, name: bytes, sealed: bytes) -> None:
        """Remember an answer. Replaces an earlier answer of the same name."""
        answer = SealedAnswer(sealed, time.time())
        self._new[name] = answer
        self._warm(name, answer)
        self._write_soon()

    async def stop(self) -> None:
        """Write the answers that are not written yet."""
        self._stopping.set()
        if self._saver is not None:
            await self._saver

    async def _stored(self, names: Sequence[bytes]) -> dict[bytes, SealedAnswer]:
        try:
            async with asyncio.timeout(FIND_SECONDS):
                return await self._store.find(names)
        except Exception:
            logger.exception("remembered answers could not be read; their conversations are tokenized again")
            return {}

    def _use(self, name: bytes, answer: SealedAnswer, now: float) -> None:
        if now - answer.used_at > USE_SECONDS:
            answer = SealedAnswer(answer.sealed, now)
            self._used[name] = now
            self._write_soon()
        self._warm(name, answer)

    def _warm(self, name: bytes, answer: SealedAnswer) -> None:
        self._hot.put(name, answer, ENTRY_BYTES + len(answer.sealed))
        while self._hot.size > self._max_hot_bytes:
            self._hot.pop(self._hot.next_to_go())

    def _write_soon(self) -> None:
        if self._saver is None or self._saver.done():
            self._saver = asyncio.create_task(self._save(), name="save-answers")

    async def _save(self) -> None:
        while self._new or self._used:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._save_seconds):
                    await self._stopping.wait()
            new, self._new = self._new, {}
            used, self._used = self._used, {}
            try:
                await self._store.save(new, used)
                await self._trim()
            except Exception:
                logger.exception(
                    "%d remembered answers could not be stored and will be lost at the next restart", len(new)
                )

    async def _trim(self) -> None:
        now = time.time()
        if now - self._trimmed > TRIM_SECONDS:
            self._trimmed = now
            await self._store.trim(
                unused_since=now - MAX_AGE_SECONDS, max_bytes=self._max_bytes, weight=self.owners.weight
            )
