"""A simulated fleet: sessions, gateways with the routers of the product, and replicas that report to them."""

import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec import structs

from bench.fleet_sim.agenda import Agenda
from bench.fleet_sim.block_cache import BlockCache
from bench.fleet_sim.replica import ReplicaSize, SimReplica, SimRequest, Totals
from engine.api.role import Role
from engine.fleet.routing.router import Assignment, RoutedPrompt, Router, Seat
from engine.fleet.wire.report import ReplicaCost

TIMED_EVERY: Final = 16
"""One decision in this many is timed."""

NOTICE_SECONDS: Final = 1.0
"""Time until the requests of a lost gateway arrive at another one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of a session.

    wait: seconds since the end of the session's last answer, or since the start of the simulation.
    names: of the full blocks of the prompt. names_after: of those of prompt and answer.
    """

    wait: float
    names: Sequence[int]
    names_after: Sequence[int]
    num_tokens: int
    num_answer: int


Session = Iterator[Turn]


@dataclass(frozen=True, slots=True)
class WorldShape:
    """Parts of a simulation.

    report_seconds: time between two reports of a replica, and so the greatest age of what a router knows.
    shared_blocks: blocks of the common lower tier; None without one.
    roles: role of each replica; empty for "both".
    cores: cores of a machine on which all replicas run, divided as the product does; None if each replica has its own.
    """

    replicas: int
    gateways: int
    cost: ReplicaCost
    size: ReplicaSize
    report_seconds: float = 0.1
    shared_blocks: int | None = None
    cores: int | None = None
    roles: Sequence[Role] = ()


@dataclass(slots=True)
class Observed:
    """Observations during a simulation.

    first_token: seconds to the first token of each request; predicted: the estimate of the router.
    at: when each request arrived.
    decision: seconds of the decisions that were timed.
    counts: requests by replica.
    """

    totals: Totals = field(default_factory=Totals)
    at: "array[float]" = field(default_factory=lambda: array("d"))
    first_token: "array[float]" = field(default_factory=lambda: array("d"))
    predicted: "array[float]" = field(default_factory=lambda: array("d"))
    decision: "array[float]" = field(default_factory=lambda: array("d"))
    counts: "array[int]" = field(default_factory=lambda: array("q"))
    crowding: "array[float]" = field(default_factory=lambda: array("d"))
    taken_over: int = 0


@dataclass(slots=True, eq=False)
class _Live:
    """A request that has not ended, with what another gateway needs to take it over."""

    session: Session
    turn: Turn
    number: int
    replica: int
    request: SimRequest


class SimGateway:
    """A gateway: one router, and a seat and a stream counter for each replica."""

    def __init__(self, router: Router, num_replicas: int, roles: Sequence[Role] = ()) -> None:
        self.router = router
        self.seats = [Seat(epoch=epoch, role=roles[epoch] if roles else "both") for epoch in range(num_replicas)]
        self.num_streams = [0] * num_replicas
        self.live: dict[SimRequest, _Live] = {}
        self.is_lost = False
        self._rows = {id(seat): index for index, seat in enumerate(self.seats)}
        for seat in self.seats:
            router.join(seat)

    def route(self, prompt: RoutedPrompt) -> tuple[int, Assignment]:
        """Choose a replica. Return its number, and the assignment."""
        [assignment] = self.router.route(prompt)
        replica = self._rows[id(assignment.seat)]
        assignment.stream = self.num_streams[replica]
        self.num_streams[replica] += 1
        return replica, assignment


class World:
    """Owner of everything that is simulated."""

    def __init__(self, shape: WorldShape, make_router: Callable[[Agenda], Router]) -> None:
        self.agenda = Agenda()
        self.observed = Observed()
        self.observed.counts.extend([0] * shape.replicas)
        self._shape = shape
        shared = BlockCache(shape.shared_blocks) if shape.shared_blocks else None
        self.replicas = [
            SimReplica(self.agenda, shape.cost, shape.size, self.observed.totals, shared) for _ in range(shape.replicas)
        ]
        self.gateways = [
            SimGateway(make_router(self.agenda), shape.replicas, shape.roles) for _ in range(shape.gateways)
        ]
        if shape.cores is not None:
            for core in range(min(shape.cores, shape.replicas)):
                _share(self.replicas[core :: shape.cores])
        self._num_routed = 0
        self._num_open = 0
        for number in range(shape.replicas):
            # The replicas report in turn, as if they had started at random times.
            self.agenda.at(shape.report_seconds * number / shape.replicas, partial(self._report, number))

    def play(self, sessions: Iterable[Session]) -> Observed:
        """Run all sessions to their ends."""
        for number, session in enumerate(sessions):
            self._num_open += 1
            self._next_turn(session, number)
        self.agenda.run()
        return self.observed

    def play_arriving(self, sessions: Iterator[Session]) -> Observed:
        """Run sessions in order of their beginnings to their ends. Each is taken when the one before begins."""
        self._await_next(sessions, 0)
        self.agenda.run()
        return self.observed

    def _await_next(self, sessions: Iterator[Session], number: int) -> None:
        session = next(sessions, None)
        turn = next(session, None) if session is not None else None
        if session is None or turn is None:
            return
        self._num_open += 1

        def begin() -> None:
            self._await_next(sessions, number + 1)
            self._ask(session, turn, number, self.agenda.now)

        self.agenda.at(turn.wait, begin)

    def _next_turn(self, session: Session, number: int) -> None:
        turn = next(session, None)
        if turn is None:
            self._num_open -= 1
        else:
            self.agenda.at(self.agenda.now + turn.wait, lambda: self._ask(session, turn, number, self.agenda.now))

    def _gateway_of(self, number: int) -> SimGateway:
        serving = [each for each in self.gateways if not each.is_lost]
        return serving[number % len(serving)]

    def _ask(self, session: Session, turn: Turn, number: int, arrival: float) -> None:
        gateway, observed = self._gateway_of(number), self.observed
        prompt = RoutedPrompt(turn.names, turn.num_tokens, 1, turn.num_answer)
        self._num_routed += 1
        began = time.perf_counter()
        replica, assignment = gateway.route(prompt)
        if self._num_routed % TIMED_EVERY == 0:
            observed.decision.append(time.perf_counter() - began)
        observed.counts[replica] += 1

        def start() -> None:
            assignment.started()
            observed.at.append(arrival)
            observed.first_token.append(self.agenda.now - arrival)
            observed.predicted.append(assignment.predicted or 0.0)

        def end() -> None:
            assignment.ended(None if moves else turn.num_answer)
            del gateway.live[request]
            if moves:
                self._hand_over(gateway, session, turn, number)
            else:
                self._next_turn(session, number)

        moves = assignment.seat.role == "prefill" and turn.num_answer > 1
        answer, after = (1, turn.names) if moves else (turn.num_answer, turn.names_after)
        request = SimRequest(turn.names, after, turn.num_tokens, answer, start, end)
        gateway.live[request] = _Live(session, turn, number, replica, request)
        self.replicas[replica].submit(request)

    def _hand_over(self, gateway: SimGateway, session: Session, turn: Turn, number: int) -> None:
        """Have a replica that decodes continue an answer after its first token."""
        prompt = RoutedPrompt(turn.names, turn.num_tokens, 1, turn.num_answer, "answer")
        replica, assignment = gateway.route(prompt)

        def end() -> None:
            assignment.ended(turn.num_answer)
            del gateway.live[request]
            self._next_turn(session, number)

        assignment.started()
        names, after = turn.names, turn.names_after
        request = SimRequest(names, after, turn.num_tokens, turn.num_answer, lambda: None, end, is_handed_over=True)
        gateway.live[request] = _Live(session, turn, number, replica, request)
        self.replicas[replica].submit(request)

    def _report(self, number: int) -> None:
        report = self.replicas[number].report(number)
        if report is not None:
            serving = [gateway for gateway in self.gateways if not gateway.is_lost]
            for gateway in serving:
                mine = structs.replace(report, seen=gateway.num_streams[number], gateways=len(serving))
                gateway.router.take(gateway.seats[number], mine)
        if self._num_open:
            self.agenda.at(self.agenda.now + self._shape.report_seconds, lambda: self._report(number))

    def watch_crowding(self, seconds: float, until: float) -> None:
        """Record every few seconds how many times the mean number of requests the most crowded replica has."""
        counts = [replica.num_requests for replica in self.replicas]
        if sum(counts) >= len(counts):
            self.observed.crowding.append(max(counts) * len(counts) / sum(counts))
        if self.agenda.now < until:
            self.agenda.at(self.agenda.now + seconds, lambda: self.watch_crowding(seconds, until))

    def lose_gateway(self, index: int) -> None:
        """End a gateway. The replicas drop its requests, and the other gateways take over the sessions."""
        gateway = self.gateways[index]
        gateway.is_lost = True
        lost, gateway.live = list(gateway.live.values()), {}
        self.observed.taken_over += len(lost)
        for number, replica in enumerate(self.replicas):
            replica.cancel_all([each.request for each in lost if each.replica == number])
        for each in lost:
            self.agenda.at(self.agenda.now + NOTICE_SECONDS, partial(self._ask_again, each))

    def _ask_again(self, lost: _Live) -> None:
        self._ask(lost.session, lost.turn, lost.number, self.agenda.now)


def _share(replicas: Sequence[SimReplica]) -> None:
    """Have replicas share one core."""

    def on_work() -> None:
        num_busy = max(1, sum(each.is_busy for each in replicas))
        for each in replicas:
            each.share_core(num_busy)

    for replica in replicas:
        replica.watch_work(on_work)
