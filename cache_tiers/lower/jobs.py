"""The jobs of a tier's threads. Each is finished exactly once, whether it was attempted or not."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from cache_tiers.lower.backend import PromisingSession, Refusal, TierSession, Value
from cache_tiers.lower.block import Block
from cache_tiers.lower.block_line import BlockLine, QueuedBlock
from cache_tiers.lower.block_values import BlockValues, IncomingValue
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.sealed_value import Reject


class Job(ABC):
    """A unit of work. `run` may be called again with a new session; `finish` is called once, after or instead.

    moved_at: last time, on the monotonic clock, at which the job began or a part of it ended.
    was_shed: whether the job is a write that was given up for lack of room.
    """

    moved_at = 0.0
    was_shed = False

    @abstractmethod
    def run(self, session: TierSession) -> None:
        """Use the session and keep the result."""

    @abstractmethod
    def finish(self) -> None:
        """Pass the result to the callback. A job that never ran reports a miss or a failure."""


class PutJob(Job):
    """A write of one block.

    is_there: asked right before the write. If True, counting the block as used may be enough.
    """

    def __init__(
        self,
        block: Block,
        values: BlockValues,
        done: Callable[["PutJob"], None],
        *,
        is_there: Callable[[bytes], bool] = lambda _key: False,
    ) -> None:
        self.block = block
        self._is_there = is_there
        self.stored = False
        self.refusal: Refusal | None = None
        self.seconds = 0.0
        self._values = values
        self._done = done

    def run(self, session: TierSession) -> None:
        """Write the block. `stored` becomes True if the tier accepted it; `seconds` is the duration of the write."""
        keys = self._values.keys(self.block.key)
        if self._is_there(self.block.key) and session.keep(keys) == [True] * len(keys):
            self.stored = True
            return
        began = time.monotonic()
        self.refusal = session.write(self._values.sealed(self.block))
        if self.refusal is not None and len(keys) > 1:
            # The values stored so far can never be found. A block of one value has none, and its refused write leaves
            # an earlier one, which is as good.
            session.remove(keys)
        self.seconds = time.monotonic() - began
        self.stored = self.refusal is None

    def finish(self) -> None:
        """Report the job itself, with `stored` and `refusal`."""
        self._done(self)


class KeepJob(Job):
    """A note that blocks were used. `done` receives which exist, the tier's refusal, or None without an answer."""

    def __init__(
        self, keys: Sequence[bytes], values: BlockValues, done: Callable[[list[bool] | Refusal | None], None]
    ) -> None:
        self._keys = keys
        self._values = values
        self._there: list[bool] | Refusal | None = None
        self._done = done

    def run(self, session: TierSession) -> None:
        """Count all values of the blocks as used."""
        there = session.keep([each for key in self._keys for each in self._values.keys(key)])
        count = self._values.count
        if isinstance(there, Refusal):
            self._there = there
        else:
            self._there = [all(there[at : at + count]) for at in range(0, len(there), count)]

    def finish(self) -> None:
        """Report the result."""
        self._done(self._there)


class FindJob(Job):
    """A lookup of keys. `answered` becomes True once the tier has replied."""

    def __init__(self, keys: Sequence[bytes], done: Callable[[list[bool]], None]) -> None:
        self._keys = keys
        self.answered = False
        self._found = [False] * len(keys)
        self._done = done

    def run(self, session: TierSession) -> None:
        """Look up the first value of each block, which stands for all of them."""
        self._found = session.find(self._keys)
        self.answered = True

    def finish(self) -> None:
        """Report which keys were found."""
        self._done(self._found)


@dataclass(slots=True)
class _Reading:
    """A block that a lane has taken from the line.

    opened: outcomes of the first of its values.
    """

    queued: QueuedBlock
    values: list[IncomingValue]
    opened: list[Reject | bool] = field(default_factory=list)


class LoadJob(Job):
    """One lane of the loads from a line, until the line is empty.

    A session that asks ahead has the values of the next load requested while those of the previous one arrive.
    """

    def __init__(self, line: BlockLine, values: BlockValues, meter: LinkMeter) -> None:
        self._line = line
        self._values = values
        self._meter = meter
        self._taken: deque[_Reading] = deque()
        self._has_left = False

    def run(self, session: TierSession) -> None:
        """Read and verify blocks. Outcomes before a fault count."""
        while not self._has_left:
            for found in session.read(self._asked()):
                # The session fills the next value only after this one was opened.
                self._open(found)
            self._has_left = self._line.leave()

    def _asked(self) -> Iterator[Value]:
        """Yield the values of the blocks that an earlier attempt has taken, and then of those in the line."""
        for reading in list(self._taken):
            reading.opened.clear()
            yield from (each.value for each in reading.values)
        while (queued := self._line.take()) is not None:
            reading = _Reading(queued, self._values.to_fill(queued.block))
            self._taken.append(reading)
            yield from (each.value for each in reading.values)

    def _open(self, found: int | Reject | None) -> None:
        self.moved_at = time.monotonic()
        reading = self._taken[0]
        reading.opened.append(self._values.open(reading.values[len(reading.opened)], found))
        if len(reading.opened) == len(reading.values):
            self._taken.popleft()
            if reading.queued.load.left == 1:
                self._meter.learn()
            self._line.settle(reading.queued, next((each for each in reading.opened if each is not True), True))

    def finish(self) -> None:
        """After a fault or without an attempt, report that the blocks have no answer.

        A job that has left the line has none: what was added since belongs to another one.
        """
        if self._has_left:
            return
        for queued in [*(reading.queued for reading in self._taken), *self._line.give_up()]:
            self._line.settle(queued, None)


class EraseJob(Job):
    """A removal of blocks. `done` receives whether the tier has confirmed it, or its refusal."""

    def __init__(self, keys: Sequence[bytes], values: BlockValues, done: Callable[[bool | Refusal], None]) -> None:
        self._keys = keys
        self._values = values
        self._done = done
        self._erased: bool | Refusal = False

    def run(self, session: TierSession) -> None:
        """Remove all values of the blocks."""
        self._erased = session.remove([each for key in self._keys for each in self._values.keys(key)]) or True

    def finish(self) -> None:
        """Report the result."""
        self._done(self._erased)


class PromiseJob(Job):
    """A promise of a chain's blocks. `done` receives the answer."""

    def __init__(self, keys: Sequence[bytes], terms: PromiseTerms, done: Callable[[Promised], None]) -> None:
        self._keys = keys
        self._terms = terms
        self._done = done
        self._promised = Promised(0, "away")

    def run(self, session: TierSession) -> None:
        """Promise the leading run of the blocks that the tier has."""
        assert isinstance(session, PromisingSession), "the tier's description states that it gives promises"
        self._promised = session.promise(self._keys, self._terms)

    def finish(self) -> None:
        """Report the result."""
        self._done(self._promised)
