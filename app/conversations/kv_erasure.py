"""Erasure of deleted conversations from the cache tiers, except for prefixes that other conversations share.

Erasure runs after the deletion, which does not wait for it. While the database, a tier or a replica is away, the
erasure is repeated. Blocks that it misses because the server stops age out like all unused blocks.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Final, TypeVar

from app.domain.token_history import ID_BYTES, num_common, unpack_ids
from app.domain.token_trails import TokenNode, trails_of
from app.host.engine_host import EngineHost
from app.storage.errors import ReadTimeoutError
from app.storage.token_index import INDEXED_BYTES, TokenIndex
from engine.errors import OutageError
from engine.trail import Trail

T = TypeVar("T")
Share = Callable[[str, Sequence[Trail]], Awaitable[None]]

FIRST_WAIT: Final = 1.0
LONGEST_WAIT: Final = 60.0
"""Seconds until an erasure is repeated that could not be made."""

logger = logging.getLogger(__name__)


class KVErasure:
    """Owner of the tasks that compare deleted conversations with those that remain."""

    def __init__(self, host: EngineHost, index: TokenIndex, share: Share | None = None) -> None:
        """Prepare to erase.

        share: has the other servers erase the same trails of a tenant; None for a server that has its database alone.
        """
        self._host = host
        self._index = index
        self._share = share
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, deleted: Sequence[TokenNode], tenant: str) -> None:
        """Begin to erase the KV of a tenant's deleted messages, which must have left the store already."""
        task = asyncio.create_task(self._erase(deleted, tenant), name="erase-kv")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Cancel the erasures in progress."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _erase(self, deleted: Sequence[TokenNode], tenant: str) -> None:
        engine = self._host.engine
        if engine is None:
            return
        try:
            trails = await _repeated(partial(self._trails, deleted, tenant))
            is_erased = await engine.erase(trails, tenant=tenant)
            if self._share is not None:
                await _repeated(partial(self._share, tenant, trails))
            waits = _waits()
            while not is_erased:
                await asyncio.sleep(next(waits))
                is_erased = await engine.erase(trails, tenant=tenant)
        except Exception:
            logger.exception("the KV of a deleted conversation could not be erased; it will age out")

    async def _trails(self, deleted: Sequence[TokenNode], tenant: str) -> list[Trail]:
        """Return the trails of deleted messages, each with the length that stored conversations share."""
        trails: list[Trail] = []
        starts: dict[bytes, list[tuple[str, bytes]]] = {}
        for trail in await asyncio.to_thread(trails_of, deleted):
            # Branches usually share their beginning.
            first = trail.ids[:INDEXED_BYTES]
            if first not in starts:
                starts[first] = await self._index.starting_like(first, tenant)
            num_shared = await self._num_shared(trail.ids, starts[first]) // ID_BYTES
            trails.append(Trail(unpack_ids(trail.ids), num_shared, trail.ends))
        return trails

    async def _num_shared(self, ids: bytes, starts: Sequence[tuple[str, bytes]]) -> int:
        """Return the length, in bytes, of the longest prefix of `ids` that a stored conversation shares.

        A stored message is read only if everything before it matches.
        """
        longest, level = 0, [(0, message) for message in starts]
        while level:
            common, whole = await asyncio.to_thread(_match, ids, level)
            longest = max(longest, common)
            level = [(end, message) for end, id_ in whole for message in await self._index.followers(id_)]
        return longest


async def _repeated(attempt: Callable[[], Awaitable[T]]) -> T:
    """Repeat an attempt until the database answers, and return its result."""
    waits = _waits()
    while True:
        try:
            return await attempt()
        except (OutageError, ReadTimeoutError) as error:
            logger.warning("the KV of a deleted conversation is erased later: %s", error)
        await asyncio.sleep(next(waits))


def _waits() -> Iterator[float]:
    """Yield the seconds between the attempts of an erasure, without an end."""
    wait = FIRST_WAIT
    while True:
        yield wait
        wait = min(2 * wait, LONGEST_WAIT)


def _match(ids: bytes, level: Sequence[tuple[int, tuple[str, bytes]]]) -> tuple[int, list[tuple[int, str]]]:
    """Compare `ids` with stored messages, each given with its start.

    Returns the end of the longest match, and the end and id of each message that matches completely. All positions are
    in bytes.
    """
    longest, whole = 0, list[tuple[int, str]]()
    for start, (message_id, own) in level:
        common = num_common(ids[start : start + len(own)], own) * ID_BYTES
        longest = max(longest, start + common)
        if common == len(own):
            whole.append((start + common, message_id))
    return longest, whole
