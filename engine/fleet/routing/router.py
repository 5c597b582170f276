"""Choice of the replica that computes a request: least predicted seconds, where a known prefix is hardly any work."""

import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import numpy as np

from engine.api.role import Role
from engine.fleet.routing.prediction import NO_LIMITS, Floats, Need, PredictionTable, StepLimits
from engine.fleet.routing.prefix_index import Found, PrefixIndex, Published
from engine.fleet.routing.roles import Part, suits
from engine.fleet.wire.report import NO_WORK, ReplicaWork, Report

FIRST_GUESS: Final = 256.0
"""Expected tokens of an answer before any answer has ended."""

NEWEST: Final = 0.02
"""Weight of the newest answer in the mean length of an answer."""

RouteReason = Literal["prefix", "load", "last", "only"]
"""Reason of a choice.

prefix: the replica has the longest known prefix.
load: none has a prefix, or the replicas that have one are predicted to take longer.
last: the replica computed the conversation last, and is not measurably slower than the best one.
only: no other replica serves.
"""


@dataclass(frozen=True, slots=True)
class RoutedPrompt:
    """A request as a router sees it.

    names: of the prefixes that end with each full block of the prompt (`prefix_index`).
    max_tokens: limit of an answer; None if only the context window limits it.
    part: whether the prompt has to be computed, or another replica handed the answer over.
    """

    names: Sequence[int]
    num_tokens: int
    num_answers: int = 1
    max_tokens: int | None = None
    part: Part = "prompt"


@dataclass(slots=True, eq=False, kw_only=True)
class Seat:
    """The router's view of one epoch of one replica.

    row: number in the router's tables; None while the replica does not serve.
    work, gateways, at: of the newest report, which arrived at the time `at`.
    free_at: predicted time at which all prompts sent there are computed, on the router's clock.
    sent: assignments that no report has counted yet.
    decodes, prompts: answers with and without a first token that no report has counted, less those that the newest
        report counts and that have ended since. Other gateways see the same report, so each is assumed to do as this
        one does: what it has sent counts once for each gateway.
    published: names of the prefixes that the replica holds.
    role: part of the answers that the replica computes.
    """

    epoch: int = 0
    row: int | None = None
    work: ReplicaWork = NO_WORK
    gateways: int = 1
    at: float = 0.0
    free_at: float = 0.0
    decodes: int = 0
    prompts: int = 0
    own_decodes: int = 0
    own_prompts: int = 0
    own_seconds: float = 0.0
    sent: "OrderedDict[Assignment, None]" = field(default_factory=OrderedDict)
    published: Published = field(default_factory=lambda: (set(), set(), set()))
    role: Role = "both"


class Assignment:
    """An answer's charge of the seat that was chosen for it. Call `started` and `ended` at most once each.

    seconds: time that the answer's prompt was predicted to take the replica.
    is_waiting: whether the answer has no token yet.
    stream: number of the answer's stream; None until the request is sent.
    reason: why the seat was chosen.
    predicted: seconds from the choice to the first token; None if the router predicts none.
    """

    __slots__ = ("_router", "is_waiting", "predicted", "reason", "seat", "seconds", "stream")

    def __init__(
        self,
        router: "AssignmentOwner",
        seat: Seat,
        reason: RouteReason,
        seconds: float = 0.0,
        predicted: float | None = None,
    ) -> None:
        self._router = router
        self.seat = seat
        self.seconds = seconds
        self.reason: RouteReason = reason
        self.predicted = predicted
        self.stream: int | None = None
        self.is_waiting = True

    def started(self) -> None:
        """Note that the answer has its first token."""
        self._router.on_started(self)

    def ended(self, num_tokens: int | None = None) -> None:
        """Note that the answer has ended with `num_tokens`, or, with None, continues on another replica."""
        self._router.on_ended(self, num_tokens)


class AssignmentOwner(Protocol):
    """Receiver of the news about assignments."""

    def on_started(self, assignment: Assignment) -> None:
        """Note that the answer has its first token."""

    def on_ended(self, assignment: Assignment, num_tokens: int | None) -> None:
        """Note that the answer has ended, or continues on another replica."""


class Router(Protocol):
    """Interface of a routing policy over replicas that come and go. No method waits."""

    def join(self, seat: Seat) -> None:
        """Take the seat of a replica that serves from now on."""

    def leave(self, seat: Seat) -> None:
        """Forget everything about a replica. Do nothing if the seat has left or never joined."""

    def take(self, seat: Seat, report: Report) -> None:
        """Take a report. Reports of another epoch than the seat's are dropped."""

    def choose(self, prompt: RoutedPrompt) -> Seat:
        """Return the seat for a prompt, without a charge. At least one seat must have joined."""

    def route(self, prompt: RoutedPrompt) -> list[Assignment]:
        """Choose a seat for a prompt and charge it. Return an assignment for each answer."""


class PredictingRouter:
    """Router that sends a request where it takes the fewest seconds in all.

    All terms of a prediction are seconds, so they are added without weights. A difference of less than one step
    cannot be seen from outside, and there the replica that computed the conversation last is chosen.
    """

    def __init__(
        self,
        block_size: int,
        limits: StepLimits = NO_LIMITS,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._block_size = block_size
        self._clock = clock
        self._table = PredictionTable(block_size, limits)
        self._index = PrefixIndex()
        self._seats: list[Seat | None] = []
        self._num_seats = 0
        self._num_specialists = 0
        self._mean_tokens = FIRST_GUESS

    @property
    def num_names(self) -> int:
        """Number of names in the index of prefixes."""
        return len(self._index)

    def join(self, seat: Seat) -> None:
        """See Router."""
        row = next((row for row, each in enumerate(self._seats) if each is None), None)
        if row is None:
            row = self._table.add_row()
            self._seats.append(seat)
        self._seats[row], seat.row = seat, row
        self._num_seats += 1
        self._num_specialists += seat.role != "both"
        self._settle(seat)

    def leave(self, seat: Seat) -> None:
        """See Router."""
        if seat.row is None:
            return
        self._index.remove(seat.row, seat.published)
        self._table.remove(seat.row)
        self._seats[seat.row], seat.row = None, None
        self._num_seats -= 1
        self._num_specialists -= seat.role != "both"

    def take(self, seat: Seat, report: Report) -> None:
        """See Router."""
        if seat.row is None or report.epoch != seat.epoch:
            return
        self._index.publish(seat.row, seat.published, report.gained, report.lost)
        if report.cost is not None and self._table.learn(seat.row, report.cost):
            for other in self._seats:
                self._settle(other)
        seat.work, seat.gateways = report.work, report.gateways
        seat.decodes = seat.prompts = 0
        while seat.sent and _is_counted(assignment := next(iter(seat.sent)), report.seen):
            del seat.sent[assignment]
        seat.at = self._clock()
        seat.free_at = seat.at + self._table.queue_seconds(seat.row, report.work)
        for assignment in seat.sent:
            self._charge(seat, assignment)
        self._settle(seat)

    def choose(self, prompt: RoutedPrompt) -> Seat:
        """See Router."""
        return self._choose(prompt).seat

    def route(self, prompt: RoutedPrompt) -> list[Assignment]:
        """See Router."""
        chosen = self._choose(prompt)
        seat = chosen.seat
        assert seat.row is not None
        assignments = [
            # The prompt is computed once, for the first answer.
            Assignment(self, seat, chosen.reason, 0.0 if number else chosen.seconds, chosen.predicted)
            for number in range(prompt.num_answers)
        ]
        seat.free_at = max(seat.free_at, self._clock())
        for assignment in assignments:
            seat.sent[assignment] = None
            seat.own_prompts, seat.own_seconds = seat.own_prompts + 1, seat.own_seconds + assignment.seconds
            self._charge(seat, assignment)
        self._index.note(seat.row, prompt.names)
        self._settle(seat)
        return assignments

    def on_started(self, assignment: Assignment) -> None:
        """See AssignmentOwner."""
        seat = assignment.seat
        if assignment.is_waiting:
            count = self._weight(seat, assignment)
            seat.prompts, seat.decodes = seat.prompts - count, seat.decodes + count
            seat.own_prompts, seat.own_decodes = seat.own_prompts - 1, seat.own_decodes + 1
            seat.own_seconds -= assignment.seconds
            if assignment in seat.sent:
                seat.free_at -= seat.gateways * assignment.seconds
            self._settle(seat)
        assignment.is_waiting = False

    def on_ended(self, assignment: Assignment, num_tokens: int | None) -> None:
        """See AssignmentOwner."""
        self.on_started(assignment)
        seat = assignment.seat
        seat.decodes -= self._weight(seat, assignment)
        seat.own_decodes -= 1
        seat.sent.pop(assignment, None)
        if num_tokens:
            self._mean_tokens += NEWEST * (num_tokens - self._mean_tokens)
        self._settle(seat)

    def _weight(self, seat: Seat, assignment: Assignment) -> int:
        """Return how many answers a assignment stands for. One that the newest report counts stands for itself."""
        return seat.gateways if assignment in seat.sent else 1

    def _charge(self, seat: Seat, assignment: Assignment) -> None:
        """Add a assignment that no report has counted."""
        if assignment.is_waiting:
            seat.prompts += seat.gateways
            seat.free_at += seat.gateways * assignment.seconds
        else:
            seat.decodes += seat.gateways

    def _settle(self, seat: Seat | None) -> None:
        """Enter into the table what is known of a seat that has joined.

        Answers of the report end one after the other, within the time of a mean answer. The older the report is, the
        more this gateway's own answers count instead, and those of the others as many. If all gateways kept to an old
        report, they would crowd the replicas that had little work then.
        """
        if seat is None or seat.row is None:
            return
        work, now = seat.work, self._clock()
        life = self._mean_tokens * self._table.pace(seat.row, work.decodes)
        left = max(0.0, 1 - (now - seat.at) / life) if life else 1.0
        own = (1 - left) * seat.gateways
        decodes = left * (left * work.decodes + seat.decodes) + own * seat.own_decodes
        prompts = left * (left * (work.prompts + work.waiting) + seat.prompts) + own * seat.own_prompts
        queue = left * max(0.0, seat.free_at - now) + own * seat.own_seconds
        self._table.set(seat.row, now + queue, max(0.0, decodes), max(0.0, prompts))

    def _choose(self, prompt: RoutedPrompt) -> "_Choice":
        found = self._index.find(prompt.names, self._table.num_rows)
        expected = self._mean_tokens if prompt.max_tokens is None else min(self._mean_tokens, prompt.max_tokens)
        need = Need(prompt.num_tokens, prompt.num_answers, expected)
        work, first, whole = self._table.predict(self._clock(), need, found.device, found.near, found.below)
        if self._num_specialists:
            whole = self._of_suitable(whole, prompt.part)
        row, reason = self._best(whole, found, prompt)
        seat = self._seats[row]
        assert seat is not None, "no replica has joined"
        return _Choice(seat, "only" if self._num_seats == 1 else reason, float(work[row]), float(first[row]))

    def _of_suitable(self, whole: Floats, part: Part) -> Floats:
        """Return the predictions of the replicas whose role is this part. If there is none, any replica will do."""
        suitable = [row for row, seat in enumerate(self._seats) if seat is not None and suits(seat.role, part)]
        if not suitable:
            return whole
        of_suitable = np.full_like(whole, np.inf)
        of_suitable[suitable] = whole[suitable]
        return of_suitable

    def _best(self, whole: Floats, found: Found, prompt: RoutedPrompt) -> tuple[int, RouteReason]:
        """Return the row with the fewest predicted seconds, and the reason.

        Among rows within a step of the best one, the replica that computed the conversation last is chosen, then the
        longest prefix, then the fewest answers. The prompt breaks the last tie, so that several gateways do not all
        choose the same row.
        """
        row = int(whole.argmin())
        rows = self._table.alike(whole, row)
        if len(rows) > 1:
            if found.last is not None and found.last in rows:
                return found.last, "prefix" if found.last == row else "last"
            near = found.near[rows]
            rows = self._table.least_busy(rows[near == near.max()])
            row = int(rows[(prompt.names[-1] if prompt.names else prompt.num_tokens) % len(rows)])
        return row, "prefix" if found.near[row] and found.near[row] == found.near.max() else "load"


@dataclass(frozen=True, slots=True)
class _Choice:
    """A seat, and why it was chosen.

    seconds: predicted for the prompt alone. predicted: seconds to the first token.
    """

    seat: Seat
    reason: RouteReason
    seconds: float
    predicted: float


def _is_counted(assignment: Assignment, seen: int) -> bool:
    return assignment.stream is not None and assignment.stream < seen
