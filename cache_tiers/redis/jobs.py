"""The jobs of the worker threads. Each is finished exactly once, whether it was attempted or not."""

import logging
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence

from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.tier import Block
from cache_tiers.redis.block_commands import (
    erase_blocks,
    find_blocks,
    load_blocks,
    put_block,
    renew_blocks,
)
from cache_tiers.redis.block_format import BlockFormat
from cache_tiers.redis.load_line import Load, LoadLine
from cache_tiers.redis.resp import ErrorReply, RespConnection

logger = logging.getLogger(__name__)


class Job(ABC):
    """A unit of work. `run` may be called again with a new connection; `finish` is called once, after or instead."""

    @abstractmethod
    def run(self, connection: RespConnection, *, getex: bool) -> None:
        """Perform the exchange and keep its result."""

    @abstractmethod
    def finish(self) -> None:
        """Pass the result to the callback. A job that never ran reports a miss or a failure."""


class PutJob(Job):
    """A write of one block.

    is_there: asked right before the write. If True, renewing the time to live may be enough.
    """

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
        """Send the block. `stored` becomes True if the server accepted it; `seconds` is the duration of the write."""
        if self._is_there(self.block.key) and renew_blocks(connection, [self.block.key], self._layout) == [True]:
            self.stored = True
            return
        began = time.monotonic()
        self.error = put_block(connection, self.block, self._layout)
        self.seconds = time.monotonic() - began
        self.stored = self.error is None

    def finish(self) -> None:
        """Report the job itself, with `stored` and `error`."""
        self._done(self)


class RenewJob(Job):
    """A renewal of stored blocks' time to live.

    `done` receives which of them exist, the server's error, or None without an answer.
    """

    def __init__(
        self, keys: Sequence[bytes], layout: BlockFormat, done: Callable[[list[bool] | ErrorReply | None], None]
    ) -> None:
        self._keys = keys
        self._layout = layout
        self._there: list[bool] | ErrorReply | None = None
        self._done = done

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """Renew the blocks in one pipelined exchange."""
        self._there = renew_blocks(connection, self._keys, self._layout)

    def finish(self) -> None:
        """Report the result."""
        self._done(self._there)


class FindJob(Job):
    """A lookup of keys. `answered` becomes True once the server has replied."""

    def __init__(self, keys: Sequence[bytes], meter: LinkMeter, done: Callable[[list[bool]], None]) -> None:
        self._keys = keys
        self._meter = meter
        self.answered = False
        self._found = [False] * len(keys)
        self._done = done

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """Look up the keys in one pipelined exchange."""
        self._found = find_blocks(connection, self._keys, self._meter)
        self.answered = True

    def finish(self) -> None:
        """Report which keys were found."""
        self._done(self._found)


class LoadJob(Job):
    """Loads from a line, until the line is empty.

    One connection receives all loads, since Redis serves one client at a time and two would disturb each other. The
    requests of the next load are sent while the replies to the previous one arrive.
    """

    def __init__(self, line: LoadLine, layout: BlockFormat, meter: LinkMeter) -> None:
        self._line = line
        self._layout = layout
        self._meter = meter
        self._taken: deque[Load] = deque()
        self._blocks: deque[Block] = deque()
        self._has_left = False

    def run(self, connection: RespConnection, *, getex: bool) -> None:
        """Receive and verify blocks, pipelined. Outcomes before a fault count, unless there is a second attempt."""
        self._blocks.clear()
        for load in self._taken:
            load.outcomes.clear()
            self._blocks.extend(load.blocks)
        while True:
            for outcome in load_blocks(connection, self._next_block, self._layout, self._meter, getex=getex):
                self._taken[0].outcomes.append(outcome)
                if self._taken[0].is_over:
                    self._meter.learn()
                    _report(self._taken.popleft())
            if self._line.leave():
                self._has_left = True
                return

    def _next_block(self) -> Block | None:
        if not self._blocks and (load := self._line.take()) is not None:
            self._taken.append(load)
            self._blocks.extend(load.blocks)
        return self._blocks.popleft() if self._blocks else None

    def finish(self) -> None:
        """Report the outcomes of the loads still in the line, after a fault or without an attempt.

        If the line has been empty, the loads in it now belong to another job.
        """
        if self._has_left:
            return
        while not self._line.leave():
            if (waiting := self._line.take()) is not None:
                self._taken.append(waiting)
        for load in self._taken:
            _report(load)


def _report(load: Load) -> None:
    """Pass the outcomes of a load on. A defect there must not keep other loads from theirs."""
    try:
        load.done(load.outcomes)
    except Exception:
        logger.exception("the callback of a load from Redis failed")


class EraseJob(Job):
    """A removal of blocks. `done` receives whether Redis has confirmed it, or the server's error."""

    def __init__(self, keys: Sequence[bytes], layout: BlockFormat, done: Callable[[bool | ErrorReply], None]) -> None:
        self._keys = keys
        self._layout = layout
        self._done = done
        self._erased: bool | ErrorReply = False

    def run(self, connection: RespConnection, *, getex: bool) -> None:  # noqa: ARG002
        """Remove the blocks with one command."""
        self._erased = erase_blocks(connection, self._keys, self._layout) or True

    def finish(self) -> None:
        """Report the result."""
        self._done(self._erased)
