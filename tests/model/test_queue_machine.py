"""Random lives of the three queues: no request starves, and waiting tenants get a share by weight."""

import itertools
from collections import Counter
from math import inf

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from engine.request.request import Request
from engine.scheduling.queue.policy import QueuePolicy, make_queue
from tests.lives import run_lives
from tests.sizes import Size
from tests.unit.scheduling_rig import bare_request

WEIGHTS = {"a": 1.0, "b": 3.0, "c": 0.5}
MAX_TOKENS = 50
MAX_WAIT = 10.0


class QueueLife(RuleBasedStateMachine):
    """Random life of a request queue.

    since: time at which each waiting tenant last had a turn, or began to wait.
    allowed: turns that each overdue request may still have to wait for. Under "fair", by overdue tenant.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.open("fcfs", False)
        self.orders = itertools.count()
        self.waiting: dict[int, Request] = {}
        self.begun: list[Request] = []
        self.allowed: dict[object, int] = {}
        self.served: Counter[str] = Counter()
        self.since: dict[str, float] = {}
        self.both_waited_since: dict[tuple[str, str], dict[str, int]] = {}

    @initialize(policy=st.sampled_from(("fcfs", "priority", "fair")), patient=st.booleans())
    def open(self, policy: QueuePolicy, patient: bool) -> None:
        self.policy = policy
        self.max_wait = inf if patient else MAX_WAIT
        self.queue = make_queue(policy, max_waiting=10_000, max_wait=self.max_wait, weights=WEIGHTS)

    @rule(
        tenant=st.sampled_from(sorted(WEIGHTS)),
        priority=st.integers(-2, 2),
        count=st.integers(1, 4),
    )
    def arrive(self, tenant: str, priority: int, count: int) -> None:
        if tenant not in self._in_line():
            self.since[tenant] = self.now
        for _ in range(count):
            order = next(self.orders)
            self.waiting[order] = bare_request(order, tenant=tenant, priority=priority, arrival=self.now)
            self.queue.add(self.waiting[order])

    @rule(tokens=st.integers(1, MAX_TOKENS), seconds=st.floats(0.0, 4.0))
    @precondition(lambda self: self.waiting)
    def turn(self, tokens: int, seconds: float) -> None:
        self.now += seconds
        self._count_overdue()
        request = self.queue.candidates(self.now)[0]
        assert self.queue.candidates(self.now)[0] is request
        if self.policy == "fcfs":
            assert request.order == min(self.waiting)
        self.queue.start(request, self.now)
        request.waited = self.now - request.wait_began
        del self.waiting[request.order]
        self.begun.append(request)
        self.allowed.pop(request.tenant if self.policy == "fair" else request.order, None)
        for name in self.allowed:
            self.allowed[name] -= 1
            assert self.allowed[name] >= 0, "an overdue request was overtaken more often than allowed"
        self.since[request.tenant] = self.now
        self._leave(request.tenant)
        self.queue.charge(request, tokens)
        self.served[request.tenant] += tokens

    @rule(which=st.integers(0, 99))
    @precondition(lambda self: self.begun)
    def come_back(self, which: int) -> None:
        request = self.begun.pop(which % len(self.begun))
        request.wait_began = self.now - request.waited
        if request.tenant not in self._in_line():
            self.since[request.tenant] = request.wait_began + request.waited
        self.queue.add(request)
        self.waiting[request.order] = request
        if self.policy == "priority":
            for order in self.allowed:
                assert isinstance(order, int)
                self.allowed[order] += 2 * (_wait(request) < _wait(self.waiting[order]))

    @rule(which=st.integers(0, 99))
    @precondition(lambda self: self.waiting)
    def abort(self, which: int) -> None:
        order = list(self.waiting)[which % len(self.waiting)]
        request = self.waiting.pop(order)
        self.queue.remove(request)
        self.allowed.pop(order, None)
        self._leave(request.tenant)

    def _leave(self, tenant: str) -> None:
        if tenant not in self._in_line():
            self.allowed.pop(tenant, None)
            self.since.pop(tenant, None)

    def _in_line(self) -> set[str]:
        return {request.tenant for request in self.waiting.values()}

    def _count_overdue(self) -> None:
        if self.policy == "priority":
            overdue = [r for r in self.waiting.values() if self.now - r.wait_began > self.max_wait]
            for request in overdue:
                before = sum(_wait(other) < _wait(request) for other in overdue)
                self.allowed.setdefault(request.order, 2 * before + 2)
        elif self.policy == "fair":
            for tenant, since in self.since.items():
                if self.now - since > self.max_wait:
                    before = sum(other <= since for other in self.since.values()) - 1
                    self.allowed.setdefault(tenant, 2 * before + 2)

    @invariant()
    def no_request_is_lost(self) -> None:
        assert len(self.queue) == len(self.waiting)

    @invariant()
    def shares_follow_weights(self) -> None:
        if not self.waiting or self.policy != "fair" or self.max_wait < inf:
            return
        in_line = self._in_line()
        for pair in itertools.combinations(sorted(WEIGHTS), 2):
            if not in_line.issuperset(pair):
                self.both_waited_since.pop(pair, None)
                continue
            before = self.both_waited_since.setdefault(pair, dict(self.served))
            one, other = ((self.served[name] - before.get(name, 0)) / WEIGHTS[name] for name in pair)
            assert abs(one - other) <= MAX_TOKENS * sum(1 / WEIGHTS[name] for name in pair)

    def teardown(self) -> None:
        while self.waiting:
            self.turn(1, 0.0)
        assert not self.allowed


def _wait(request: Request) -> tuple[float, int]:
    return request.wait_began, request.order


def test_no_request_starves_and_tenants_get_their_shares(size: Size) -> None:
    run_lives(QueueLife, lives=size.pick(small=30, full=1000), steps=100)
