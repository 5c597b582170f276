"""A happens-before checker with vector clocks, which finds every unordered pair of conflicting accesses.

Each stream counts its operations and records, for every other stream, the last operation that it has waited for. An
access to bytes that another stream accessed after that operation is a fault if one of the two writes. The host is a
stream too. Everything that the host has waited for happens before everything that it queues next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fake_npu.faults import MissingEventError
from tests.fake_npu.spans import Spans

HOST = "host"

Clock = dict[str, int]


@dataclass(frozen=True)
class Access:
    """An access by operation number `at` of its stream."""

    at: int
    writes: bool
    spans: Spans


@dataclass
class Timeline:
    """Vector clocks and pending accesses.

    seen: clock of each stream: for every stream, the last operation that happened before.
    accesses: accesses of each stream that the host has not waited for.
    """

    seen: dict[str, Clock] = field(default_factory=lambda: {HOST: {}})
    accesses: dict[str, list[Access]] = field(default_factory=dict)

    def operate(self, stream: str, reads: Sequence[Spans], writes: Sequence[Spans]) -> None:
        """Add the next operation of `stream`. Raise MissingEventError if an access is unordered."""
        clock = self.seen.setdefault(stream, {})
        merge(clock, self.seen[HOST])
        for spans, writing in [*((spans, False) for spans in reads), *((spans, True) for spans in writes)]:
            self._check(stream, clock, spans, writing)
        at = clock[stream] = clock.get(stream, 0) + 1
        pending = self.accesses.setdefault(stream, [])
        pending += [Access(at, False, spans) for spans in reads]
        pending += [Access(at, True, spans) for spans in writes]

    def now(self, stream: str) -> Clock:
        """Return the clock of an event that is recorded in `stream` now."""
        clock = self.seen.setdefault(stream, {})
        merge(clock, self.seen[HOST])
        return dict(clock)

    def wait(self, stream: str, event: Clock) -> None:
        """Order `stream` after `event`.

        Accesses that the host has waited for are dropped, because everything that follows happens after them.
        """
        merge(self.seen.setdefault(stream, {}), event)
        if stream == HOST:
            known = self.seen[HOST]
            self.accesses = {
                other: [each for each in pending if each.at > known.get(other, 0)]
                for other, pending in self.accesses.items()
            }

    def _check(self, stream: str, clock: Clock, spans: Spans, writing: bool) -> None:
        for name, pending in self.accesses.items():
            if name == stream:
                continue
            for other in pending:
                unordered = other.at > clock.get(name, 0)
                if unordered and (writing or other.writes) and spans.overlap(other.spans):
                    did, does = ("wrote", "read")[not other.writes], ("writes", "reads")[not writing]
                    raise MissingEventError(f"{stream} {does} memory that {name} {did}, without waiting for it")


def merge(clock: Clock, other: Clock) -> None:
    """Update `clock` to the maximum of both clocks."""
    for stream, at in other.items():
        clock[stream] = max(clock.get(stream, 0), at)
