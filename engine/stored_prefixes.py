"""What lies in the tiers of prompts that are not asked yet: where it is, and bringing it up."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from cache_tiers.block_key import BlockKey
from cache_tiers.manager import TierManager
from engine.core import EngineCore
from engine.outputs import Place
from engine.processor import Processor
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.tiering import Tiering

POLL_SECONDS: Final = 0.002


class StoredPrefixes:
    """Every method belongs to the thread of the event loop; keys are computed, and Redis is asked, beside it.

    wake: called when the engine's loop has something to do. is_serving: whether it does anything still.
    """

    def __init__(
        self,
        processor: Processor,
        core: EngineCore,
        *,
        wake: Callable[[], None],
        is_serving: Callable[[], bool],
    ) -> None:
        self._processor = processor
        self._core = core
        self._wake = wake
        self._is_serving = is_serving
        self._questions: set[asyncio.Task[list[bool]]] = set()

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """A prompt that begins with these tokens may be asked soon: bring up what the tiers below have of it, as far as
        the device while the engine has nothing else to do, within the bounds of `Foresight`. Returns whether anything
        is brought. name: for `leave`; the next one of the same name takes its place."""
        keys = await asyncio.to_thread(self._processor.keys_of_prefix, token_ids, tenant)

        def expect(scheduler: Scheduler) -> bool:
            tiering = self._tiering_of(scheduler)
            return tiering is not None and tiering.foresight.expect(name, tenant, keys, token_ids)

        begun = self._core.ask(expect, otherwise=False)
        self._wake()
        return begun

    def _tiering_of(self, scheduler: Scheduler) -> Tiering | None:
        """Return what is between the scheduler and the tiers, while that may be used."""
        return scheduler.tiering if self._is_serving() else None

    def leave(self, name: str) -> None:
        """Cancel the prefetch hint `name`; nothing happens if there is none."""

        def forget(scheduler: Scheduler) -> None:
            if (tiering := self._tiering_of(scheduler)) is not None:
                tiering.foresight.forget(name)

        self._core.ask(forget, otherwise=None)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[Place | None]:
        """Where the last full block of each lies: as tiers give up the end of a chain first, that is the lowest place
        that a prompt which goes on from it has to turn to. None: nowhere, as far as is known; also while Redis is left
        alone. What was found or written is not asked for again, so Redis may have evicted it since."""
        keys = await asyncio.to_thread(self._last_keys, prefixes, tenant)
        found = [
            self._core.ask(partial(self._place_above, key), otherwise=None) if key is not None else None for key in keys
        ]
        below = [key for key, place in zip(keys, found, strict=True) if key is not None and place is None]
        in_redis = dict(zip(below, await self._in_redis(below), strict=True))
        return [
            "redis" if place is None and key is not None and in_redis[key] else place
            for key, place in zip(keys, found, strict=True)
        ]

    def _last_keys(self, prefixes: Sequence[Sequence[int]], tenant: str) -> list[BlockKey | None]:
        chains = (self._processor.keys_of_prefix(token_ids, tenant) for token_ids in prefixes)
        return [chain[-1] if chain else None for chain in chains]

    def _place_above(self, key: BlockKey, scheduler: Scheduler) -> Place | None:
        if scheduler.blocks.pool.has(key):
            return "device"
        if (tiering := self._tiering_of(scheduler)) is None:
            return None
        store = tiering.tiers.store
        return "cpu" if store.keeps_in_cpu and store.contains(key) else None

    async def _in_redis(self, keys: Sequence[BlockKey]) -> list[bool]:
        tiering = self._core.ask(self._tiering_of, otherwise=None)
        if not keys or tiering is None or tiering.tiers.redis_speed is None:
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
