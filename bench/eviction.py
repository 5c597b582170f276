"""`python -m bench.eviction`: replay of a trace of conversations and single calls against the eviction policies.

No model runs: a request finds the longest run of its blocks that the tier holds, and leaves all of its blocks there.
The result is the share of the prompts' blocks that were found. A second table compares the default policy with and
without marks of clients for caching. A third one has the blocks that reach a tier below, if those of single calls wait
for a second use. With `--traces FOLDER`, it also has the published trace of coding agents (`agent.jsonl.gz`), with
memory for a few minutes of it.
"""

import argparse
import heapq
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Final, Protocol

from bench.eviction_trace import AGENTS, BLOCK, MIXES, Ask, Kind, Mix, trace
from bench.machine import describe_machine
from bench.published_traces import agents
from bench.report import RESULTS, write_results
from bench.report_tables import table
from cache_tiers.cpu.eviction import UNMARKED, EvictionPolicy, LeastRecentlyUsed, LikelyToReturn
from cache_tiers.moves.admission import Admission
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.owners.owners import Owners

CAPACITIES: Final = (512, 2048, 8192)
SEEDS: Final = (1, 2, 3)
MINUTES: Final = (2, 5, 10)
"""Minutes of the published trace: the tier holds all blocks that were used within them."""


class Tier(Protocol):
    """A CPU tier with room for a fixed number of blocks."""

    def has(self, key: BlockKey) -> bool: ...

    def take(self, ask: Ask, num_found: int) -> None:
        """Store the blocks of a request that has ended."""


class PolicyTier:
    """Tier that evicts one block at a time, as the product does."""

    def __init__(self, capacity: int, policy: EvictionPolicy, marks: "Marks | None" = None) -> None:
        self._capacity = capacity
        self._policy = policy
        self._marks = marks
        self._keys: set[BlockKey] = set()

    def has(self, key: BlockKey) -> bool:
        return key in self._keys

    def take(self, ask: Ask, num_found: int) -> None:
        for key in ask.chain:
            if key in self._keys:
                continue
            if len(self._keys) == self._capacity:
                victim = next(self._policy.in_order())
                self._policy.remove(victim)
                self._keys.remove(victim)
            self._policy.add(key)
            self._keys.add(key)
        marked = range(self._marks.num_marked(ask)) if self._marks is not None else UNMARKED
        self._policy.touch(ask.chain, num_found, marked)


class EndlessTier:
    """Tier with room for all blocks."""

    def __init__(self) -> None:
        self.keys: set[BlockKey] = set()

    def has(self, key: BlockKey) -> bool:
        return key in self.keys

    def take(self, ask: Ask, num_found: int) -> None:
        del num_found
        self.keys.update(ask.chain)


class AdmittingTier(PolicyTier):
    """Tier above one without a bound, which receives blocks as the product admits them.

    stored: kinds of requests that belong to stored conversations.
    below: what the tier below has received.
    """

    def __init__(self, capacity: int, stored: tuple[Kind, ...]) -> None:
        super().__init__(capacity, LikelyToReturn())
        self.below: set[BlockKey] = set()
        self._stored = stored
        self._admission = Admission(self, Owners())

    def has(self, key: BlockKey) -> bool:
        return key in self.below or super().has(key)

    def admit(self, keys: Sequence[BlockKey]) -> None:
        self.below.update(key for key in keys if super(AdmittingTier, self).has(key))

    def take(self, ask: Ask, num_found: int) -> None:
        super().take(ask, num_found)
        is_stored = ask.kind in self._stored
        if is_stored:
            self.below.update(ask.chain)
        self._admission.on_used(ask.chain, num_found, ask.num_prompt, at_once=is_stored)


class ClairvoyantTier:
    """Tier that evicts the block whose next use is farthest away.

    No policy can know that, and none can be much better.
    """

    def __init__(self, capacity: int, asks: Sequence[Ask]) -> None:
        self._capacity = capacity
        self._times: dict[BlockKey, list[float]] = {}
        for ask in reversed(asks):
            for key in ask.chain[: ask.num_prompt]:
                self._times.setdefault(key, []).append(ask.at)
        self._next: dict[BlockKey, float] = {}
        self._heap: list[tuple[float, int, BlockKey]] = []

    def has(self, key: BlockKey) -> bool:
        return key in self._next

    def take(self, ask: Ask, num_found: int) -> None:
        del num_found
        for index, key in enumerate(ask.chain):
            times = self._times.get(key, [])
            while times and times[-1] <= ask.at:
                times.pop()
            self._next[key] = times[-1] if times else inf
            # Within a chain, the last block is evicted first.
            heapq.heappush(self._heap, (-self._next[key], -index, key))
        while len(self._next) > self._capacity:
            at, _, key = heapq.heappop(self._heap)
            if self._next.get(key) == -at:
                del self._next[key]


def replay(asks: Sequence[Ask], tier: Tier) -> float:
    """Return the share of the prompts' blocks that were found."""
    asked = found = 0
    for ask in asks:
        run = next((index for index in range(ask.num_prompt) if not tier.has(ask.chain[index])), ask.num_prompt)
        asked, found = asked + ask.num_prompt, found + run
        tier.take(ask, run)
    return found / asked


POLICIES: Final[dict[str, Callable[[int, Sequence[Ask]], Tier]]] = {
    "lru": lambda capacity, _: PolicyTier(capacity, LeastRecentlyUsed()),
    "returning": lambda capacity, _: PolicyTier(capacity, LikelyToReturn()),
    "clairvoyant": ClairvoyantTier,
}


@dataclass(frozen=True, slots=True)
class Marks:
    """Clients that mark their prompts, and answers with them, for caching.

    whole: kinds of requests that are marked whole.
    instructions: kinds of requests whose instructions are marked.
    """

    name: str
    whole: tuple[Kind, ...]
    instructions: tuple[Kind, ...] = ()

    def num_marked(self, ask: Ask) -> int:
        """Return the number of the first blocks that a request marks."""
        if ask.kind in self.whole:
            return len(ask.chain)
        return ask.num_instructions if ask.kind in self.instructions else 0


STORED: Final[tuple[tuple[Kind, ...], ...]] = (("chat",), ())
CHATS: Final = Marks("chats", ("chat",))
SINGLES: Final = Marks("single calls", ("single call",))
EVERYTHING: Final = Marks("all", ("chat", "single call", "agent"))
MARKED: Final = (
    (MIXES[1], (CHATS, SINGLES, EVERYTHING)),
    (MIXES[2], (CHATS, Marks("chats, and the instructions of calls", ("chat",), ("single call",)), EVERYTHING)),
    (AGENTS, (CHATS, Marks("agents", ("agent",)), Marks("chats and agents", ("chat", "agent")), SINGLES, EVERYTHING)),
)


@dataclass(frozen=True, slots=True)
class MarkedRow:
    """One row of the second table.

    without: the share of blocks that were found without marks, as a mean over the seeds.
    found: the same with marks.
    """

    mix: str
    marks: str
    capacity: int
    without: float
    found: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text. The gain is in percentage points."""
        gain = f"{100 * (self.found - self.without):+.1f}"
        return self.mix, self.marks, f"{self.capacity * BLOCK}", f"{100 * self.without:.1f} %", gain


@dataclass(frozen=True, slots=True)
class WrittenRow:
    """One row of the third table, as means over the seeds.

    stored: kinds of requests that belong to stored conversations. The others are written as their use shows.
    written: share of all blocks that reach the tier below.
    lost: share of the prompts' blocks that would be found if all were written, and are not.
    """

    mix: str
    stored: tuple[Kind, ...]
    capacity: int
    written: float
    lost: float

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text. The loss is in percentage points."""
        stored = "chats" if self.stored else "none"
        return self.mix, stored, f"{self.capacity * BLOCK}", f"{self.written:.2f}", f"{100 * self.lost:.2f}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table.

    capacity: size of the tier in blocks.
    found: by policy, the share of blocks that were found, as a mean over the seeds.
    """

    mix: str
    capacity: int
    num_asked: int
    found: dict[str, float]

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as text."""
        return self.mix, f"{self.capacity * BLOCK}", *(f"{100 * self.found[name]:.1f} %" for name in POLICIES)


def measure(mix: Mix, capacity: int) -> Row:
    """Measure one row of the table."""
    shares: dict[str, list[float]] = {name: [] for name in POLICIES}
    num_asked = 0
    for seed in SEEDS:
        asks = trace(mix, seed)
        num_asked += sum(ask.num_prompt for ask in asks)
        for name, make in POLICIES.items():
            shares[name].append(replay(asks, make(capacity, asks)))
    return Row(mix.name, capacity, num_asked, {name: sum(each) / len(each) for name, each in shares.items()})


def measure_marks(mix: Mix, marks: Sequence[Marks], capacity: int) -> list[MarkedRow]:
    """Measure the rows of the second table for one mix and one capacity."""
    traces = [trace(mix, seed) for seed in SEEDS]

    def found(each: Marks | None) -> float:
        return sum(replay(asks, PolicyTier(capacity, LikelyToReturn(), each)) for asks in traces) / len(traces)

    without = found(None)
    return [MarkedRow(mix.name, each.name, capacity, without, found(each)) for each in marks]


def measure_written(name: str, traces: Sequence[Sequence[Ask]], stored: tuple[Kind, ...], capacity: int) -> WrittenRow:
    """Measure one row of the third table."""
    written = lost = 0.0
    for asks in traces:
        every, some = EndlessTier(), AdmittingTier(capacity, stored)
        lost += replay(asks, every) - replay(asks, some)
        written += len(some.below) / len(every.keys)
    return WrittenRow(name, stored, capacity, written / len(traces), lost / len(traces))


def measure_agents(asks: Sequence[Ask]) -> list[WrittenRow]:
    """Measure the rows of the published trace, whose requests are all stateless."""
    sizes = {minutes: used_within(60.0 * minutes, asks) for minutes in MINUTES}
    return [measure_written(f"coding agents, {minutes} minutes", [asks], (), size) for minutes, size in sizes.items()]


def used_within(seconds: float, asks: Sequence[Ask]) -> int:
    """Return the largest number of blocks that were used within any such time."""
    last: OrderedDict[BlockKey, float] = OrderedDict()
    most = 0
    for ask in asks:
        for key in ask.chain:
            last[key] = ask.at
            last.move_to_end(key)
        while next(iter(last.values())) < ask.at - seconds:
            last.popitem(last=False)
        most = max(most, len(last))
    return most


def main(argv: Sequence[str] | None = None) -> int:
    """Replay, print, and write eviction.json and eviction.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.eviction", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--traces", type=Path, help="folder with agent.jsonl.gz")
    arguments = parser.parse_args(argv)
    rows = [measure(mix, capacity) for mix in MIXES for capacity in CAPACITIES]
    marked = [row for mix, marks in MARKED for capacity in CAPACITIES for row in measure_marks(mix, marks, capacity)]
    written = []
    for mix in (*MIXES, AGENTS):
        traces = [trace(mix, seed) for seed in SEEDS]
        written += [measure_written(mix.name, traces, each, size) for each in STORED for size in CAPACITIES]
    if arguments.traces is not None:
        written += measure_agents(agents(arguments.traces))
    result = {
        "machine": asdict(describe_machine()),
        "rows": [asdict(row) for row in rows],
        "marked": [asdict(row) for row in marked],
        "written": [asdict(row) for row in written],
    }
    text = "\n\n".join(
        (
            table(("traffic", "tier, tokens", *POLICIES), [row.cells for row in rows]),
            table(("traffic", "marked", "tier, tokens", "returning", "gain by marks"), [row.cells for row in marked]),
            table(("traffic", "stored", "tier, tokens", "written", "points lost"), [row.cells for row in written]),
        )
    )
    write_results(arguments.out, "eviction", result, f"{text}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
