"""What lies in the tiers of prompts that are not asked yet: where it is, and bringing it up."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from cache_tiers.block_key import BlockKey
from cache_tiers.manager import TierManager
from engine.outputs import Place
from engine.processor import Processor
from engine.scheduling.scheduler import Scheduler

POLL_SECONDS: Final = 0.002


class StoredPrefixes:
    """Every method belongs to the thread of the event loop; keys are computed, and Redis is asked, beside it.

    wake: called when the engine's loop has something to do. is_serving: whether it does anything still.
    """

    def __init__(
        self,
        processor: Processor,
        scheduler: Scheduler,
        *,
        wake: Callable[[], None],
        is_serving: Callable[[], bool],
    ) -> None:
        self._processor = processor
        self._scheduler = scheduler
        self._wake = wake
        self._is_serving = is_serving
        self._questions: set[asyncio.Task[list[bool]]] = set()

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """A prompt that begins with these tokens may be asked soon: bring up what the tiers below have of it, as far as
        the device while the engine has nothing else to do, within the bounds of `Foresight`. Returns whether anything
        is brought. name: for `leave`; the next one of the same name takes its place."""
        keys = await asyncio.to_thread(self._processor.keys_of_prefix, token_ids, tenant)
        tiering = self._scheduler.tiering
        if tiering is None or not self._is_serving():
            return False
        begun = tiering.foresight.expect(name, tenant, keys, token_ids)
        self._wake()
        return begun

    def leave(self, name: str) -> None:
        """It will not be asked. Nothing happens if nothing is brought for it."""
        if self._scheduler.tiering is not None and self._is_serving():
            self._scheduler.tiering.foresight.forget(name)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[Place | None]:
        """Where the last full block of each lies: as tiers give up the end of a chain first, that is the lowest place
        that a prompt which goes on from it has to turn to. None: nowhere, as far as is known; also while Redis is left
        alone. What was found or written is not asked for again, so Redis may have evicted it since."""
        keys = await asyncio.to_thread(self._last_keys, prefixes, tenant)
        found = [self._place_above(key) for key in keys]
        below = [key for key, place in zip(keys, found, strict=True) if key is not None and place is None]
        in_redis = dict(zip(below, await self._in_redis(below), strict=True))
        return [
            "redis" if place is None and key is not None and in_redis[key] else place
            for key, place in zip(keys, found, strict=True)
        ]

    def _last_keys(self, prefixes: Sequence[Sequence[int]], tenant: str) -> list[BlockKey | None]:
        chains = (self._processor.keys_of_prefix(token_ids, tenant) for token_ids in prefixes)
        return [chain[-1] if chain else None for chain in chains]

    def _place_above(self, key: BlockKey | None) -> Place | None:
        if key is None:
            return None
        if self._scheduler.blocks.pool.has(key):
            return "device"
        tiering = self._scheduler.tiering
        if tiering is None or not self._is_serving():
            return None
        store = tiering.tiers.store
        return "cpu" if store.keeps_in_cpu and store.contains(key) else None

    async def _in_redis(self, keys: Sequence[BlockKey]) -> list[bool]:
        tiering = self._scheduler.tiering
        if not keys or tiering is None or not self._is_serving() or tiering.tiers.redis_speed is None:
            return [False] * len(keys)
        # Somebody has to take the answer also if whoever asked for it does not wait for it.
        task = asyncio.create_task(_ask(tiering.tiers, keys), name="where-is-kv")
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)
        return await asyncio.shield(task)


async def _ask(tiers: TierManager, keys: Sequence[BlockKey]) -> list[bool]:
    """One question for all that is not known to be there."""
    store = tiers.store
    if unknown := [key for key in dict.fromkeys(keys) if not store.num_known_in_redis([key])]:
        handle = store.look_up(unknown)
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if store.poll_look_up(handle) is not None:
                break
    return [store.num_known_in_redis([key]) == 1 for key in keys]
