"""Other policies behind the router's interface, re-implemented from their documentation."""

import bisect
import hashlib
import random
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from math import inf
from typing import Final

from engine.fleet.routing.prediction import StepLimits
from engine.fleet.routing.router import Assignment, PredictingRouter, RoutedPrompt, Router, Seat
from engine.fleet.wire.report import Report

POINTS: Final = 64
"""Points of each replica on the ring of consistent hashing."""

MATCH_RATE: Final = 0.1
"""Default `match_rate_threshold` of Ray's PrefixCacheAffinityRouter."""

FINITE: Final = 4.0
"""Finite `imbalanced_threshold`, in requests. Ray's default is infinite."""

MOST_CHATS: Final = 1 << 20


class CountingRouter:
    """Base of policies that know nothing but the unfinished requests that they have sent."""

    def __init__(self) -> None:
        self.seats: list[Seat] = []
        self.unfinished: Counter[Seat] = Counter()

    def join(self, seat: Seat) -> None:
        """See Router."""
        self.seats.append(seat)

    def leave(self, seat: Seat) -> None:
        """See Router."""
        if seat in self.seats:
            self.seats.remove(seat)
        self.unfinished.pop(seat, None)

    def take(self, seat: Seat, report: Report) -> None:
        """Ignore the report."""

    def choose(self, prompt: RoutedPrompt) -> Seat:
        """See Router."""
        raise NotImplementedError

    def route(self, prompt: RoutedPrompt) -> list[Assignment]:
        """See Router."""
        seat = self.choose(prompt)
        self.unfinished[seat] += prompt.num_answers
        return [Assignment(self, seat, "load") for _ in range(prompt.num_answers)]

    def on_started(self, assignment: Assignment) -> None:
        """See AssignmentOwner."""

    def on_ended(self, assignment: Assignment, num_tokens: int | None) -> None:  # noqa: ARG002
        """See AssignmentOwner."""
        if assignment.seat in self.unfinished:
            self.unfinished[assignment.seat] -= 1


class RoundRobin(CountingRouter):
    """Each replica in turn."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0

    def choose(self, prompt: RoutedPrompt) -> Seat:  # noqa: ARG002
        """See Router."""
        self._next += 1
        return self.seats[self._next % len(self.seats)]


class LeastLoaded(CountingRouter):
    """The replica with the fewest unfinished requests; among equals one at random."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self._draw = random.Random(seed)

    def choose(self, prompt: RoutedPrompt) -> Seat:  # noqa: ARG002
        """See Router."""
        least = min(self.unfinished[seat] for seat in self.seats)
        return self._draw.choice([seat for seat in self.seats if self.unfinished[seat] == least])


class ConsistentHash(CountingRouter):
    """The replica of a conversation's place on a ring.

    A request states no conversation here, so a conversation is recognized by the last block of its former prompt.
    """

    def __init__(self) -> None:
        super().__init__()
        self._ring: list[tuple[int, int]] = []
        self._chats: OrderedDict[int, int] = OrderedDict()
        self._count = 0

    def join(self, seat: Seat) -> None:
        """See Router."""
        super().join(seat)
        self._build()

    def leave(self, seat: Seat) -> None:
        """See Router."""
        super().leave(seat)
        self._build()

    def _build(self) -> None:
        points = [
            (_place(f"{seat.epoch}-{point}"), index) for index, seat in enumerate(self.seats) for point in range(POINTS)
        ]
        self._ring = sorted(points)

    def choose(self, prompt: RoutedPrompt) -> Seat:
        """See Router."""
        known = next((name for name in reversed(prompt.names) if name in self._chats), None)
        if known is None:
            self._count += 1
            chat = self._count
        else:
            chat = self._chats.pop(known)
        if prompt.names:
            self._chats[prompt.names[-1]] = chat
        if len(self._chats) > MOST_CHATS:
            self._chats.popitem(last=False)
        at = bisect.bisect(self._ring, (_place(f"chat {chat}"), 0)) % len(self._ring)
        return self.seats[self._ring[at][1]]


def _place(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


class PrefixAffinity(CountingRouter):
    """Ray's PrefixCacheAffinityRouter (docs.ray.io, "Prefix-aware routing"), on blocks instead of characters.

    - If the queues differ by more than `imbalanced` requests: the shorter queue of two random replicas.
    - If the longest prefix in the tree covers at least `MATCH_RATE` of the prompt: the replicas that have it.
    - Else the replicas with the least in the tree.
    - Among several: the shorter queue of two of them at random.

    The tree has what was sent to each replica. Eviction from it is off, as by default.
    """

    def __init__(self, imbalanced: float = inf, seed: int = 0) -> None:
        super().__init__()
        self._imbalanced = imbalanced
        self._draw = random.Random(seed)
        self._tree: dict[int, set[Seat]] = {}
        self._sizes: Counter[Seat] = Counter()

    def choose(self, prompt: RoutedPrompt) -> Seat:
        """See Router."""
        queues = [self.unfinished[seat] for seat in self.seats]
        if max(queues) - min(queues) > self._imbalanced:
            return self._of_two(self.seats)
        depth, matching = 0, set[Seat]()
        for at, name in enumerate(prompt.names, 1):
            if not (holders := self._tree.get(name)):
                break
            depth, matching = at, holders
        if depth and depth >= MATCH_RATE * len(prompt.names):
            return self._of_two([seat for seat in self.seats if seat in matching])
        least = min(self._sizes[seat] for seat in self.seats)
        return self._of_two([seat for seat in self.seats if self._sizes[seat] == least])

    def _of_two(self, seats: list[Seat]) -> Seat:
        two = self._draw.sample(seats, min(2, len(seats)))
        return min(two, key=lambda seat: self.unfinished[seat])

    def route(self, prompt: RoutedPrompt) -> list[Assignment]:
        """See Router."""
        assignments = super().route(prompt)
        seat = assignments[0].seat
        for name in prompt.names:
            holders = self._tree.setdefault(name, set())
            if seat not in holders:
                holders.add(seat)
                self._sizes[seat] += 1
        return assignments


Clock = Callable[[], float] | None
"""Clock of a simulation; None for real time."""

POLICIES: Final[Mapping[str, Callable[[int, StepLimits, Clock], Router]]] = {
    "round robin": lambda *_: RoundRobin(),
    "least loaded": lambda *_: LeastLoaded(),
    "consistent hash": lambda *_: ConsistentHash(),
    "prefix affinity": lambda *_: PrefixAffinity(),
    "prefix affinity, finite": lambda *_: PrefixAffinity(FINITE),
    "predicted": lambda block_size, limits, clock: PredictingRouter(block_size, limits, clock=clock or time.monotonic),
}
"""Each policy by its name, made for replicas with blocks of a size, the limits of their steps, and a clock."""
