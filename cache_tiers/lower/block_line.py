"""The line of blocks that are to be read from a tier, from which its lanes take."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cache_tiers.lower.block import Block
from cache_tiers.lower.sealed_value import Reject

logger = logging.getLogger(__name__)

Outcome = Reject | bool | None
"""True if a block is complete and verified, False if the tier does not have it, or the fault of its value.

None stands for no answer."""


@dataclass(slots=True, eq=False)
class Load:
    """Blocks to read. `done` receives the outcome of each, once all are known.

    left: number of blocks whose outcome is not known yet.
    """

    blocks: Sequence[Block]
    done: Callable[[list[Outcome]], None]
    outcomes: list[Outcome] = field(init=False)
    left: int = field(init=False)

    def __post_init__(self) -> None:
        """Begin without outcomes."""
        self.outcomes = [None] * len(self.blocks)
        self.left = len(self.blocks)


@dataclass(frozen=True, slots=True)
class QueuedBlock:
    """Block number `index` of a load."""

    load: Load
    index: int

    @property
    def block(self) -> Block:
        """The block."""
        return self.load.blocks[self.index]


class BlockLine:
    """Queued blocks, in the order of their loads. Thread-safe.

    lanes: most lanes that work on the line. The caller that adds a load starts those that are missing.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._working = 0
        self._unsettled = 0
        self._lock = threading.Lock()
        self._waiting: deque[QueuedBlock] = deque()

    def __len__(self) -> int:
        """Count the blocks whose outcome is not known yet, whether a lane has taken them or not."""
        return self._unsettled

    def add(self, load: Load) -> int:
        """Queue the blocks of a load. Return the number of lanes that the caller must start."""
        with self._lock:
            self._waiting.extend(QueuedBlock(load, index) for index in range(len(load.blocks)))
            self._unsettled += len(load.blocks)
            more = min(self._lanes - self._working, len(load.blocks))
            self._working += more
            return more

    def take(self) -> QueuedBlock | None:
        """Return the next block; None if the line is empty."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def leave(self) -> bool:
        """End a lane. Return False if blocks are left, in which case the lane must continue."""
        with self._lock:
            if self._waiting:
                return False
            self._working -= 1
            return True

    def take_all(self) -> list[QueuedBlock]:
        """Take the blocks that no lane has taken."""
        with self._lock:
            waiting = list(self._waiting)
            self._waiting.clear()
            return waiting

    def give_up(self) -> list[QueuedBlock]:
        """End a lane after a fault, or before it began. Return the blocks that no other lane will take."""
        with self._lock:
            self._working -= 1
            left = [] if self._working else list(self._waiting)
            if left:
                self._waiting.clear()
            return left

    def settle(self, queued: QueuedBlock, outcome: Outcome) -> None:
        """Note the outcome of a block. With the last one, pass the outcomes of the load on."""
        load = queued.load
        with self._lock:
            load.outcomes[queued.index] = outcome
            load.left -= 1
            self._unsettled -= 1
            is_over = load.left == 0
        if is_over:
            try:
                load.done(load.outcomes)
            except Exception:
                # A defect there must not keep other loads from their outcomes.
                logger.exception("the callback of a load failed")
