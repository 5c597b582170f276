"""The kinds of work for a worker thread. Each is finished exactly once, whether it was tried or not."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

from cache_tiers.link_speed import LinkMeter
from cache_tiers.redis.block_commands import (
    Block,
    erase_blocks,
    find_blocks,
    load_blocks,
    put_block,
    renew_blocks,
)
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.load_line import Load, LoadLine
from cache_tiers.redis.resp import ErrorReply, RespConnection


class Job(ABC):
    """`run` may be called twice, for a fresh connection; `finish` once, afterwards or instead of it."""

    @abstractmethod
    def run(self, connection: RespConnection, *, getex: bool) -> None:
        """Do the exchange and keep its result."""

    @abstractmethod
    def finish(self) -> None:
        """Hand the result over; the result of a job that was never run is a miss or a failure."""


class PutJob(Job):
    """Write one block. is_there: asked when its turn has come; if so, renewing the time to live may be enough."""

    def __init__(
        self,
        block: Block,
        layout: BlockFormat,
        done: Callable[["PutJob"], None],
        *,
        is_there: Callable[[bytes], bool] = lambda _key: False,
    ) -> None:
        self.block = block
        self._is_there = is_there
        self.stored = False
        self.error: ErrorReply | None = None
        self.seconds = 0.0
        self._layout = layout
        self._done = done

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """Send the block; `stored` tells whether the server took it, `seconds` how long that took."""
        if self._is_there(self.block.key) and renew_blocks(connection, [self.block.key], self._layout) == [True]:
            self.stored = True
            return
        began = time.monotonic()
        self.error = put_block(connection, self.block, self._layout)
        self.seconds = time.monotonic() - began
        self.stored = self.error is None

    def finish(self) -> None:
        """Report `stored`."""
        self._done(self)


class RenewJob(Job):
    """Begin the time to live of stored blocks anew; `done` learns which were there, or None if nobody said so."""

    def __init__(self, keys: Sequence[bytes], layout: BlockFormat, done: Callable[[list[bool] | None], None]) -> None:
        self._keys = keys
        self._layout = layout
        self._there: list[bool] | None = None
        self._done = done

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """One pipelined exchange."""
        self._there = renew_blocks(connection, self._keys, self._layout)

    def finish(self) -> None:
        """Report what was learned, if anything."""
        self._done(self._there)


class FindJob(Job):
    """Ask which of some keys exist. answered: the server has said so."""

    def __init__(self, keys: Sequence[bytes], meter: LinkMeter, done: Callable[[list[bool]], None]) -> None:
        self._keys = keys
        self._meter = meter
        self.answered = False
        self._found = [False] * len(keys)
        self._done = done

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """One pipelined look-up."""
        self._found = find_blocks(connection, self._keys, self._meter)
        self.answered = True

    def finish(self) -> None:
        """Report which were found."""
        self._done(self._found)


class LoadJob(Job):
    """Receive and verify what stands in a line, until it is empty: one connection takes all that a Redis sends, which
    serves one client at a time, and two would disturb each other. The next load's questions travel while the answers of
    the one before come in."""

    def __init__(self, line: LoadLine, layout: BlockFormat, meter: LinkMeter) -> None:
        self._line = line
        self._layout = layout
        self._meter = meter
        self._taken: deque[Load] = deque()
        self._blocks: deque[Block] = deque()
        self._has_left = False

    def run(self, connection: RespConnection, *, getex: bool) -> None:
        """Pipelined. What came before a fault counts, unless there is a second attempt."""
        self._blocks.clear()
        for load in self._taken:
            load.outcomes.clear()
            self._blocks.extend(load.blocks)
        while True:
            for outcome in load_blocks(connection, self._next_block, self._layout, self._meter, getex=getex):
                self._taken[0].outcomes.append(outcome)
                if self._taken[0].is_over:
                    self._meter.learn()
                    load = self._taken.popleft()
                    load.done(load.outcomes)
            if self._line.leave():
                self._has_left = True
                return

    def _next_block(self) -> Block | None:
        if not self._blocks and (load := self._line.take()) is not None:
            self._taken.append(load)
            self._blocks.extend(load.blocks)
        return self._blocks.popleft() if self._blocks else None

    def finish(self) -> None:
        """Report the outcomes of what stands in the line still: there was a fault, or no attempt. Once it was empty,
        what stands there is another job's."""
        if self._has_left:
            return
        while not self._line.leave():
            if (waiting := self._line.take()) is not None:
                self._taken.append(waiting)
        for load in self._taken:
            load.done(load.outcomes)


class EraseJob(Job):
    """Remove some blocks. Nobody is told: what could not be removed ages out."""

    def __init__(self, keys: Sequence[bytes], layout: BlockFormat) -> None:
        self._keys = keys
        self._layout = layout

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """One command."""
        erase_blocks(connection, self._keys, self._layout)

    def finish(self) -> None:
        """Nothing to report."""
