"""Tier lookups and prefetches for prompts that have not been submitted yet."""

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.moves.manager import TierManager
from cache_tiers.moves.promises import ASK_AGAIN_SECONDS
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import CPU, DEVICE, TierId
from engine.api.promise import DeclineReason, PromiseReport, PromiseRequest
from engine.api.stored_tokens import AnsweredText, Trail
from engine.intake.processor import Processor
from engine.loop.core import EngineCore
from engine.loop.promised_ends import REASONS
from engine.scheduling.scheduler import Scheduler
from engine.speculation.phrases import KnownAnswer

POLL_SECONDS: Final = 0.002

LONGEST_STORE_SECONDS: Final = 2.0
"""Longest wait of an answer that is handed over for its blocks to be stored. The others are computed again."""

_MARGIN_SECONDS: Final = 0.5
"""Time in which the last answer of the tiers to a promise arrives."""


class StoredPrefixes:
    """Locations of prefixes and prefetch hints. Every method belongs to the event loop's thread.

    Keys are computed on other threads, and the lower tiers are asked without blocking the loop.

    wake: called when the engine's loop has something to do.
    is_serving: returns False once the engine is stopping or has failed.
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
        self._questions: set[asyncio.Task[Any]] = set()
        self._numbers = itertools.count()

    async def warm(self, name: str, token_ids: Sequence[int], *, tenant: str) -> bool:
        """Prefetch the KV of a prompt that is expected to begin with `token_ids`.

        Blocks are loaded as far as the device while the engine is otherwise idle, within the limits of `PrefetchHints`.
        Return True if there is anything to load.

        name: identifies the hint for `leave`. A new hint replaces one of the same name.
        """
        keys = await asyncio.to_thread(self._processor.keys_of_prefix, token_ids, tenant)

        def add_hint(scheduler: Scheduler) -> bool:
            return self._is_serving() and scheduler.connector.add_hint(name, tenant, keys, token_ids)

        begun = self._core.ask(add_hint, otherwise=False)
        self._wake()
        return begun

    def _tiers_of(self, scheduler: Scheduler) -> TierManager | None:
        """Return the tiers below the device; None if there are none, or if they may not be used."""
        return scheduler.connector.tiers if self._is_serving() else None

    def leave(self, name: str) -> None:
        """Cancel the prefetch hint `name`. Do nothing if there is none."""

        def forget(scheduler: Scheduler) -> None:
            if self._is_serving():
                scheduler.connector.cancel_hint(name)

        self._core.ask(forget, otherwise=None)

    async def places(self, prefixes: Sequence[Sequence[int]], *, tenant: str) -> list[TierId | None]:
        """Return the location of each prefix's last full block; None if no available tier is known to have it.

        Since tiers evict the end of a chain first, this is the lowest tier that a prompt which continues the prefix
        needs. The lower tiers are not asked again about blocks found or written there before, so they may have evicted
        them since.
        """
        keys = await asyncio.to_thread(self._last_keys, prefixes, tenant)
        found = [
            self._core.ask(partial(self._place_above, key), otherwise=None) if key is not None else None for key in keys
        ]
        below = [key for key, place in zip(keys, found, strict=True) if key is not None and place is None]
        places = await self._places_below(below)
        return [
            places.get(key) if place is None and key is not None else place
            for key, place in zip(keys, found, strict=True)
        ]

    async def until_below(self, token_ids: Sequence[int], *, tenant: str) -> bool:
        """Wait until a lower tier has all blocks of these tokens, including a partly filled last one.

        Return False if no lower tier is available, or after `LONGEST_STORE_SECONDS`.
        """
        keys = await asyncio.to_thread(self._processor.keys_of_chain, token_ids, tenant)
        ends = asyncio.get_running_loop().time() + LONGEST_STORE_SECONDS
        while (is_below := self._core.ask(partial(self._is_below, keys), otherwise=False)) is False:
            if asyncio.get_running_loop().time() >= ends:
                return False
            # Tiers have no event for a block that has arrived.
            await asyncio.sleep(POLL_SECONDS)
        return is_below is True

    async def promise(
        self, token_ids: Sequence[int], wanted: PromiseRequest, *, tenant: str, patience: float
    ) -> PromiseReport:
        """Promise the stored blocks of a prompt that begins with `token_ids`, without computing any.

        patience: seconds to wait for blocks that are on their way to the disk.
        """
        keys = await asyncio.to_thread(self._processor.keys_of_prefix, token_ids[: wanted.num_tokens], tenant)
        size = self._processor.keys.namespace.block_size
        reason: DeclineReason | None
        if not keys:
            promised, reason = Promised(0, None), "too_short" if self._processor.has_prefixes else "not_kept"
        elif not wanted.reserved_bytes:
            promised, reason = Promised(0, None), "no_reservation"
        else:
            promised = await self._promised(keys, PromiseTerms(wanted.seconds, wanted.reserved_bytes), patience)
            reason = REASONS[promised.end] if promised.end is not None else None
        left = len(keys) - promised.num_blocks
        until = time.time() + wanted.seconds
        return PromiseReport(promised.num_blocks * size, left * size, wanted.seconds, until, reason)

    async def release(self, token_ids: Sequence[int], *, num_shared: int, tenant: str) -> bool:
        """End the promises of a prompt's blocks, except for the first `num_shared` tokens and the public prefix.

        Return False if the disk is away. The promises then end with their time.
        """
        trail = Trail(token_ids, num_shared)
        keys = await asyncio.to_thread(self._processor.keys.of_trails, [trail], tenant)
        released = await self._promised(keys, PromiseTerms(0.0, 0), LONGEST_STORE_SECONDS) if keys else None
        return released is None or released.end not in ("away", "read_only")

    async def _promised(self, keys: Sequence[BlockKey], terms: PromiseTerms, patience: float) -> Promised:
        # The result must be taken even if the caller is cancelled, hence a separate task.
        task = asyncio.create_task(self._ask_to_promise(keys, terms, patience), name="promise-kv")
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)
        return await asyncio.shield(task)

    async def _ask_to_promise(self, keys: Sequence[BlockKey], terms: PromiseTerms, patience: float) -> Promised:
        name = f"prefix-{next(self._numbers)}"

        def begin(scheduler: Scheduler) -> None:
            if self._is_serving():
                scheduler.connector.promise(name, keys, terms, patience)

        def take(scheduler: Scheduler) -> Promised | None:
            return scheduler.connector.take_promised(name) if self._is_serving() else None

        self._core.ask(begin, otherwise=None)
        self._wake()
        loop = asyncio.get_running_loop()
        ends = loop.time() + patience + _MARGIN_SECONDS
        while (promised := self._core.ask(take, otherwise=None)) is None:
            if loop.time() >= ends:
                return Promised(0, "away")
            # Tiers have no event for a block that has arrived.
            await asyncio.sleep(ASK_AGAIN_SECONDS)
        return promised

    async def recall(self, text: AnsweredText, *, tenant: str) -> None:
        """Have drafts guess what the answers of a stored conversation repeat, which an earlier process computed."""
        answers = await asyncio.to_thread(self._answers_in, text, tenant)

        def remember(scheduler: Scheduler) -> None:
            if self._is_serving():
                scheduler.recall(tenant, answers)

        self._core.ask(remember, otherwise=None)

    def _answers_in(self, text: AnsweredText, tenant: str) -> list[KnownAnswer]:
        keys = self._processor.keys.of_answers(text, tenant)
        return [
            KnownAnswer(text.token_ids[start:stop], own) for (start, stop), own in zip(text.spans, keys, strict=True)
        ]

    def _is_below(self, keys: Sequence[BlockKey], scheduler: Scheduler) -> bool | None:
        """Return whether a lower tier has all blocks; None if no lower tier is available."""
        tiers = self._tiers_of(scheduler)
        if tiers is None or tiers.store.link_speed() is None:
            return None
        tiers.stores.admit(keys)
        return tiers.store.num_known_below(keys) == len(keys)

    def _last_keys(self, prefixes: Sequence[Sequence[int]], tenant: str) -> list[BlockKey | None]:
        chains = (self._processor.keys_of_prefix(token_ids, tenant) for token_ids in prefixes)
        return [chain[-1] if chain else None for chain in chains]

    def _place_above(self, key: BlockKey, scheduler: Scheduler) -> TierId | None:
        if scheduler.blocks.pool.has(key):
            return DEVICE.id
        if (tiers := self._tiers_of(scheduler)) is None:
            return None
        store = tiers.store
        return CPU.id if store.keeps_in_cpu and store.contains(key) else None

    async def _places_below(self, keys: Sequence[BlockKey]) -> dict[BlockKey, TierId]:
        tiers = self._core.ask(self._tiers_of, otherwise=None)
        if not keys or tiers is None or tiers.store.link_speed() is None:
            return {}
        # The answer must be taken even if the caller is cancelled, hence a separate task.
        task = asyncio.create_task(_ask(tiers, keys), name="where-is-kv")
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)
        return await asyncio.shield(task)


async def _ask(tiers: TierManager, keys: Sequence[BlockKey]) -> dict[BlockKey, TierId]:
    """Return the place of each key that a lower tier has. Look up the keys that are not known, with one lookup."""
    store = tiers.store
    if unknown := [key for key in dict.fromkeys(keys) if store.place_below(key) is None]:
        handle = store.look_up(unknown)
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if store.poll_look_up(handle) is not None:
                break
    return {key: place for key in keys if (place := store.place_below(key)) is not None}
