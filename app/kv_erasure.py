"""Deleted conversations leave the cache tiers too, but for what other conversations also begin with.

It follows the deletion, and is no part of it: nobody waits for it, and what it misses (the engine or Redis is away, the
server stops meanwhile) ages out like all that is not used any more.
"""

import asyncio
import logging
from collections.abc import Sequence

from app.engine_host import EngineHost
from app.storage.token_index import INDEXED_BYTES, TokenIndex
from app.token_history import ID_BYTES, num_common, unpack_ids
from app.token_trails import TokenNode, trails_of
from engine.trail import Trail

logger = logging.getLogger(__name__)


class KVErasure:
    """Owner of the tasks that compare what was deleted with what is still there."""

    def __init__(self, host: EngineHost, index: TokenIndex) -> None:
        self._host = host
        self._index = index
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, deleted: Sequence[TokenNode], tenant: str) -> None:
        """Forget the KV of a tenant's conversation whose messages were these; they are not in the store any more."""
        task = asyncio.create_task(self._erase(deleted, tenant), name="erase-kv")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        """Give up what has not been done."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _erase(self, deleted: Sequence[TokenNode], tenant: str) -> None:
        engine = self._host.engine
        if engine is None:
            return
        try:
            trails: list[Trail] = []
            starts: dict[bytes, list[tuple[str, bytes]]] = {}
            for trail in await asyncio.to_thread(trails_of, deleted):
                # Branches mostly begin alike.
                first = trail.ids[:INDEXED_BYTES]
                if first not in starts:
                    starts[first] = await self._index.starting_like(first, tenant)
                num_shared = await self._num_shared(trail.ids, starts[first]) // ID_BYTES
                trails.append(Trail(unpack_ids(trail.ids), num_shared, trail.ends))
            await engine.erase(trails, tenant=tenant)
        except Exception:
            logger.exception("the KV of a deleted conversation was not forgotten; it ages out")

    async def _num_shared(self, ids: bytes, starts: Sequence[tuple[str, bytes]]) -> int:
        """How far some stored conversation begins like `ids`: of those that start like it, only what goes on with all
        before it is read."""
        longest, level = 0, [(0, message) for message in starts]
        while level:
            common, whole = await asyncio.to_thread(_match, ids, level)
            longest = max(longest, common)
            level = [(end, message) for end, id_ in whole for message in await self._index.followers(id_)]
        return longest


def _match(ids: bytes, level: Sequence[tuple[int, tuple[str, bytes]]]) -> tuple[int, list[tuple[int, str]]]:
    """How far `ids` agree with any of the messages, each of which begins where it says; and those that agree as a
    whole, with where they end. In bytes."""
    longest, whole = 0, list[tuple[int, str]]()
    for start, (message_id, own) in level:
        common = num_common(ids[start : start + len(own)], own) * ID_BYTES
        longest = max(longest, start + common)
        if common == len(own):
            whole.append((start + common, message_id))
    return longest, whole
