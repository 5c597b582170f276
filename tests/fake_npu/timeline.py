"""What happened before what: finds every pair of accesses that only luck orders.

Each stream counts its operations and remembers, of every other stream, up to which operation it has waited. An access
to bytes that another stream touched later than that is a fault, if one of the two writes. The host is a stream too;
whatever it has waited for happens before whatever it queues next.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fake_npu.faults import MissingEventError
from tests.fake_npu.spans import Spans

HOST = "host"

Clock = dict[str, int]


@dataclass(frozen=True)
class Access:
    """Operation number `at` of `stream`."""

    stream: str
    at: int
    writes: bool
    spans: Spans


@dataclass
class Timeline:
    """seen: by stream, the last operation of every stream that it comes after."""

    seen: dict[str, Clock] = field(default_factory=lambda: {HOST: {}})
    accesses: list[Access] = field(default_factory=list)

    def operate(self, stream: str, reads: Sequence[Spans], writes: Sequence[Spans]) -> None:
        """The next operation of `stream`. Raises MissingEventError."""
        clock = self.seen.setdefault(stream, {})
        merge(clock, self.seen[HOST])
        for spans, writing in [*((spans, False) for spans in reads), *((spans, True) for spans in writes)]:
            self._check(stream, clock, spans, writing)
        at = clock[stream] = clock.get(stream, 0) + 1
        self.accesses += [Access(stream, at, False, spans) for spans in reads]
        self.accesses += [Access(stream, at, True, spans) for spans in writes]

    def now(self, stream: str) -> Clock:
        """Of an event that is recorded in `stream` now."""
        clock = self.seen.setdefault(stream, {})
        merge(clock, self.seen[HOST])
        return dict(clock)

    def wait(self, stream: str, event: Clock) -> None:
        """`stream` goes on behind `event`. What the host has waited for is forgotten: everything comes after it."""
        merge(self.seen.setdefault(stream, {}), event)
        if stream == HOST:
            known = self.seen[HOST]
            self.accesses = [each for each in self.accesses if each.at > known.get(each.stream, 0)]

    def _check(self, stream: str, clock: Clock, spans: Spans, writing: bool) -> None:
        for other in self.accesses:
            unordered = other.stream != stream and other.at > clock.get(other.stream, 0)
            if unordered and (writing or other.writes) and spans.overlap(other.spans):
                did, does = ("wrote", "read")[not other.writes], ("writes", "reads")[not writing]
                raise MissingEventError(f"{stream} {does} what {other.stream} {did}, and did not wait for it")


def merge(clock: Clock, other: Clock) -> None:
    """The later of both, per stream."""
    for stream, at in other.items():
        clock[stream] = max(clock.get(stream, 0), at)
