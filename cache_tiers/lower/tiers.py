"""All tiers below CPU memory, used as one: possibly none."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final, Generic, TypeVar

from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.misses import ABSENT, TierMiss, TierMissReason
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.readers import Readers
from cache_tiers.lower.speed_trials import SpeedTrials
from cache_tiers.lower.tier import LowerTierStats
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.recent_keys import RecentKeys
from cache_tiers.tier import Tier, TierId

MAX_SOURCES: Final = 1 << 16

Result = TypeVar("Result")


class LowerTiers:
    """The tiers below CPU memory, the nearest first. Thread-safe.

    Every block is written to each tier. A block is read from the available tier that delivers it first, by measured
    speed and by what waits for that tier already. So the blocks of a large load may come from several tiers. A tier
    that no load reads from is measured now and then with one block that no request waits for.
    """

    def __init__(
        self,
        tiers: Sequence[AsyncTier],
        owners: Owners,
        *,
        off: Sequence[Tier] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Combine `tiers`. `off` are registered tiers that are off, which only the statistics mention."""
        self._tiers = tuple(tiers)
        self._off = tuple(off)
        self._trials = SpeedTrials(clock)
        self._sources: RecentKeys[TierId] = RecentKeys(MAX_SOURCES, owners)

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Tiers that are on, available or not."""
        return tuple(each.tier for each in self._tiers)

    @property
    def available(self) -> bool:
        """Whether a tier is available."""
        return any(each.available for each in self._tiers)

    def speed_for(self, keys: Sequence[bytes]) -> LinkSpeed | None:
        """Return the speed of the link to the tier that the first of `keys` would be read from.

        Without keys, return the speed of the fastest link. Return None if no tier is available.
        """
        readers = Readers(self._tiers)
        tier = readers.assign(keys[0]) if keys else readers.fastest()
        return tier.speed if tier is not None else None

    # Writes

    def announce(self, keys: Sequence[bytes]) -> None:
        """Note blocks that will be passed to `put` at any moment."""
        for each in self._tiers:
            each.announce(keys)

    def awaits_put(self, key: bytes) -> bool:
        """Return True if a block has been announced and `put` has not been called with it yet."""
        return any(each.awaits_put(key) for each in self._tiers)

    def put(self, blocks: Sequence[Block], done: Callable[[bool], None]) -> None:
        """Write the blocks to every tier. `done` receives True if all were stored in all tiers."""
        if not self._tiers:
            done(False)
            return
        results = _Results[bool](len(self._tiers), lambda stored: done(all(stored)))
        if len(self._tiers) > 1:
            nbytes = sum(block.payload.nbytes for block in blocks)
            for each in self._tiers:
                each.make_room(nbytes)
        for index, each in enumerate(self._tiers):
            each.put(blocks, results.receiver(index))

    @property
    def num_missed(self) -> int:
        """Blocks that did not reach a tier."""
        return sum(each.num_missed for each in self._tiers)

    @property
    def may_miss_more(self) -> bool:
        """Whether a pending reply could add to the missed blocks."""
        return any(each.may_miss_more for each in self._tiers)

    def take_missed(self, most: int) -> tuple[AsyncTier, list[bytes]] | None:
        """Take at most `most` blocks that one tier missed, to put again there; None if no tier can take any now."""
        for each in self._tiers:
            if missed := each.take_missed(most):
                return each, missed
        return None

    def renew(self, chain: Sequence[bytes]) -> None:
        """Mark blocks as used that were used in a tier above."""
        for each in self._tiers:
            each.renew(chain)

    def erase(self, keys: Sequence[bytes], done: Callable[[bool], None]) -> None:
        """Remove the blocks from every tier. `done` receives True if no tier has any of them any more.

        No write of them may be in flight.
        """
        if not (self._tiers and keys):
            done(True)
            return
        results = _Results[bool](len(self._tiers), lambda erased: done(all(erased)))
        for index, each in enumerate(self._tiers):
            each.erase(keys, results.receiver(index))

    def promise(self, keys: Sequence[bytes], terms: PromiseTerms, done: Callable[[Promised], None]) -> None:
        """Have the nearest tier that gives promises keep the leading run of `keys` that it has."""
        tier = next((each for each in self._tiers if each.gives_promises), None)
        if tier is None:
            done(Promised(0, "no_tier"))
        else:
            tier.promise(keys, terms, done)

    # Reads

    def num_known(self, keys: Sequence[bytes]) -> int:
        """Return the length of the leading run of `keys` that the tiers should hold, without asking them."""
        known = 0
        while known < len(keys):
            run = max((each.num_known(keys[known:]) for each in self._tiers), default=0)
            known += run
            if not run or len(self._tiers) == 1:
                break
        return known

    def place_of(self, key: bytes) -> TierId | None:
        """Return the tier that `key` would be read from, among those that should hold it, without asking any.

        Return None if there is none.
        """
        holder = Readers(self._tiers).holder_of(key)
        return holder.tier.id if holder is not None else None

    def find(self, keys: Sequence[bytes], done: Callable[[list[bool]], None]) -> None:
        """Look up which keys the tiers hold. All available tiers are asked at once about keys that none should hold.

        `done` is called as soon as each key was found somewhere, or all tiers have answered.
        """
        if len(self._tiers) == 1:
            self._tiers[0].find(keys, done)
            return
        available = [each for each in self._tiers if each.available]
        known = [any(each.num_known([key]) for each in available) for key in keys]
        asked = [key for key, is_known in zip(keys, known, strict=True) if not is_known]
        for each in self._tiers:
            # A tier that is not available could still claim the keys that it knows.
            if each not in available:
                each.note_unanswered(asked)
        if not (available and asked):
            for key in keys[:1]:
                self.take_lookup_seconds(key)
            done(known)
            return
        lookup = _Lookup(len(asked), len(available), lambda found: done(_merged(known, found)))
        for each in available:
            each.find(asked, lookup.on_answer)

    def load(self, blocks: Sequence[Block], done: Callable[[list[bool]], None]) -> None:
        """Fill the blocks' memory. `done` receives True for each block that is complete and verified."""
        parts: defaultdict[AsyncTier, list[int]] = defaultdict(list)
        choice = Readers(self._tiers)
        for position, block in enumerate(blocks):
            if (reader := choice.assign(block.key)) is not None:
                parts[reader].append(position)
        if not parts:
            self.note_unanswered([block.key for block in blocks])
            done([False] * len(blocks))
            return
        readers = list(parts)

        def on_loaded(outcomes: list[list[bool]]) -> None:
            loaded = [False] * len(blocks)
            for reader, outcome in zip(readers, outcomes, strict=True):
                for position, is_there in zip(parts[reader], outcome, strict=True):
                    loaded[position] = is_there
                if len(self._tiers) > 1:
                    arrived = (at for at, is_there in zip(parts[reader], outcome, strict=True) if is_there)
                    self._sources.note([blocks[at].key for at in arrived], reader.tier.id)
            done(loaded)

        results = _Results[list[bool]](len(readers), on_loaded)
        for index, reader in enumerate(readers):
            self._trials.note_read(reader.tier.id)
            reader.load([blocks[position] for position in parts[reader]], results.receiver(index))
        self._measure_others(readers, blocks)

    def _measure_others(self, readers: Sequence[AsyncTier], blocks: Sequence[Block]) -> None:
        """Measure tiers that do not read any of `blocks` and were not measured recently."""
        for each in self._tiers:
            if each in readers or not each.available:
                continue
            known = next((block.key for block in blocks if each.num_known([block.key])), None)
            if known is not None and self._trials.take_due(each.tier.id):
                each.measure(known)

    def source_of(self, key: bytes) -> TierId:
        """Return the tier from which a block in CPU memory was last loaded: the nearest one if that is not known."""
        return self._sources.get(key) or self._tiers[0].tier.id

    def take_lookup_seconds(self, key: bytes) -> float:
        """Take the duration of the last lookup of `key`; 0 if there was none since the previous call."""
        return max((each.take_lookup_seconds(key) for each in self._tiers), default=0.0)

    def note_unanswered(self, keys: Sequence[bytes]) -> None:
        """Record that no tier gave an answer about keys that were requested."""
        for each in self._tiers:
            each.note_unanswered(keys)

    def miss_of(self, key: bytes) -> TierMiss:
        """Return why no tier delivered `key`. A tier's failure explains more than the block's absence from another."""
        if not self._tiers:
            return TierMiss(TierMissReason.OFF)
        misses = [(each.tier, miss) for each in self._tiers if (miss := each.miss_of(key)) is not None]
        if not misses:
            return TierMiss(TierMissReason.NOT_TAKEN)
        gone_from = tuple(tier.id for tier, miss in misses if miss.reason in ABSENT)
        tier, miss = next((each for each in misses if each[1].reason not in ABSENT), misses[-1])
        return replace(miss, tier=tier.name, gone_from=gone_from)

    def stats(self) -> Mapping[TierId, LowerTierStats]:
        """Return the current statistics of each registered tier, without asking the tiers."""
        return {each.tier.id: each.stats() for each in self._tiers} | {
            tier.id: LowerTierStats(tier=tier, state="off") for tier in self._off
        }

    def flush(self, timeout: float) -> bool:
        """Block until every announced block and every erasure is settled.

        Return False on timeout, or if a block did not reach a tier or could not be erased.
        """
        # All at once, since a tier reports only the blocks that it loses while it is flushed.
        with ThreadPoolExecutor(max(1, len(self._tiers))) as threads:
            return all(list(threads.map(lambda each: each.flush(timeout), self._tiers)))

    def close(self) -> None:
        """Fail all operations and end every thread. No block's memory is touched afterwards."""
        for each in self._tiers:
            each.close()


class _Results(Generic[Result]):
    """Results of parallel operations. `done` receives all of them, in order, once the last one has arrived."""

    def __init__(self, count: int, done: Callable[[list[Result]], None]) -> None:
        self._done = done
        self._left = count
        self._lock = threading.Lock()
        self._results: dict[int, Result] = {}

    def receiver(self, index: int) -> Callable[[Result], None]:
        """Return the callback of operation `index`."""

        def receive(result: Result) -> None:
            with self._lock:
                self._results[index] = result
                self._left -= 1
                is_last = self._left == 0
            if is_last:
                self._done([self._results[number] for number in sorted(self._results)])

        return receive


class _Lookup:
    """Answers of several tiers about the same keys. `done` receives which were found, once, as early as possible."""

    def __init__(self, num_keys: int, num_tiers: int, done: Callable[[list[bool]], None]) -> None:
        self._found = [False] * num_keys
        self._left = num_tiers
        self._done: Callable[[list[bool]], None] | None = done
        self._lock = threading.Lock()

    def on_answer(self, answer: list[bool]) -> None:
        """Add the answer of a tier."""
        with self._lock:
            self._left -= 1
            self._found = [before or now for before, now in zip(self._found, answer, strict=True)]
            done = self._done if self._left == 0 or all(self._found) else None
            if done is not None:
                self._done = None
        if done is not None:
            done(self._found)


def _merged(known: Sequence[bool], found: Sequence[bool]) -> list[bool]:
    """Return `known` with the answers about its False entries."""
    answers = iter(found)
    return [is_known or next(answers) for is_known in known]
