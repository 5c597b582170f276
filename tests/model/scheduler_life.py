"""Random lives of a scheduler.

A life covers each queue policy, priorities, tenants, deadlines, aborts, chunking, preemption, stores, loads, a flaky
Redis, results that arrive one step late, copies that end some steps later, and steps that fail or are refused.

After every step the owners check themselves. At the end every request has finished, and every answer that was not cut
equals the one computed alone.
"""

import itertools
import random
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from math import inf

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.block_key import BlockKey, KeyNamespace, extend_keys
from engine.api.sampling_params import SamplingParams
from engine.block_tables.block_manager import BlockManager
from engine.kv.block_pool import BlockPool
from engine.offload.connector import OffloadConnector
from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.queue.policy import QueuePolicy, make_queue
from engine.scheduling.scheduler import Scheduler
from engine.scheduling.step_cost import StepCost
from engine.scheduling.step_size import SchedulerLimits
from engine.speculation.model_drafts import ModelDrafts
from tests.leaks import assert_no_leaks
from tests.model.toy_store import Slots, ToyStore
from tests.model.toys import BelievedCost, HalfRight, SleepingToyMask, ToyMask, ToyWorker, expected_output

BLOCK = 4
VOCAB = 7
WEIGHTS = {"a": 1.0, "b": 3.0}
POOL_BLOCKS = 12
MAX_RUNNING = 4
ROOTS = {
    tenant: KeyNamespace(
        model_fingerprint="toy",
        numerics="toy",
        kv_dtype="toy",
        block_size=BLOCK,
        layout_version=1,
        tp_rank=0,
        tp_size=1,
        tenant_salt=tenant.encode(),
    ).root()
    for tenant in WEIGHTS
}

MakeMask = Callable[[], ToyMask | None]


def no_mask() -> None:
    """Leave every token allowed."""


MASKS: tuple[MakeMask, ...] = (no_mask, ToyMask, SleepingToyMask)


class SchedulerLife(RuleBasedStateMachine):
    pool_blocks = POOL_BLOCKS
    cpu_blocks = 10

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.open("fair", patient=True, impatient_server=False, passes=1, drafts="none", late=False)

    @initialize(
        policy=st.sampled_from(("fcfs", "priority", "fair")),
        patient=st.booleans(),
        impatient_server=st.booleans(),
        passes=st.sampled_from((1, 3)),
        stages=st.sampled_from((1, 2, 3)),
        rows=st.sampled_from((3, 9)),
        drafts=st.sampled_from(("none", "text", "model", "both")),
        late=st.booleans(),
    )
    def open(
        self,
        policy: QueuePolicy,
        patient: bool,
        impatient_server: bool,
        passes: int,
        drafts: str,
        late: bool,
        stages: int = 1,
        rows: int = 9,
    ) -> None:
        self.stages = stages
        passes = passes if stages == 1 else 1
        self.policy = policy
        self.queue_timeout = 8.0 if impatient_server else inf
        self.queue = make_queue(policy, max_waiting=1000, max_wait=inf if patient else 1.0, weights=WEIGHTS)
        self.store = ToyStore(self.cpu_blocks, max_window=3)
        self.late = random.Random(0) if late else None
        self.worker = ToyWorker(BLOCK, VOCAB, self.store.host, self.late)
        self.tiers = TierManager(self.store, LoadCost(1, deadline=3.0), clock=self.clock, rest=0.0)
        self.pool = BlockPool(self.pool_blocks, on_evict=self.tiers.stores.forget, clock=self.clock)
        blocks = BlockManager(self.pool, BLOCK, 1, prefix_cache=True)
        self.store.speed = LinkSpeed(0.06, 1000.0)
        self.prefill = BelievedCost()
        self.prefill.token_seconds = 0.05
        connector = OffloadConnector(self.tiers, blocks, self.prefill, clock=self.clock)
        limits = SchedulerLimits(
            max_num_seqs=MAX_RUNNING, max_num_batched_tokens=rows, decode_passes=passes, num_stages=stages
        )
        # A draft model is in the process of the whole model.
        model_drafts = ModelDrafts() if drafts in ("model", "both") and stages == 1 else None
        self.scheduler = Scheduler(
            limits,
            blocks,
            connector,
            self.queue,
            clock=self.clock,
            proposer=HalfRight(VOCAB, is_silent=drafts == "model") if drafts != "none" else None,
            model_drafts=model_drafts,
        )
        # Until the scheduler knows that a pass takes hardly any time, a step has one pass and no drafts.
        self.scheduler.step_time.cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens={"any": 1}), 0.001)
        self.kept: dict[BlockKey, tuple[int, ...]] = {}
        self.in_flight: deque[tuple[SchedulerOutput, ModelRunnerOutput | None]] = deque()
        self.ids = itertools.count()
        self.live: dict[str, Request] = {}
        self.finished_prompts: list[list[int]] = []

    def clock(self) -> float:
        return self.now

    @rule(
        prompt=st.lists(st.integers(0, 1), min_size=1, max_size=24),
        max_tokens=st.integers(1, 20),
        stop=st.booleans(),
        tenant=st.sampled_from(sorted(WEIGHTS)),
        priority=st.integers(-1, 1),
        timeout=st.one_of(st.just(inf), st.floats(0.01, 10.0)),
        keep_kv=st.booleans(),
        make_mask=st.sampled_from(MASKS),
    )
    def add(
        self,
        prompt: list[int],
        max_tokens: int,
        stop: bool,
        tenant: str,
        priority: int,
        timeout: float,
        keep_kv: bool,
        make_mask: MakeMask = no_mask,
    ) -> None:
        max_tokens = min(max_tokens, POOL_BLOCKS * BLOCK - len(prompt))
        sampling = SamplingParams(temperature=0.0, max_tokens=max_tokens, seed=0, stop_token_ids=(3,) if stop else ())
        keys = extend_keys(ROOTS[tenant], prompt, BLOCK)
        request = Request(
            request_id=f"r{next(self.ids)}",
            tenant=tenant,
            prompt_token_ids=tuple(prompt),
            sampling=sampling,
            root_key=ROOTS[tenant],
            block_keys=keys,
            arrival=self.now,
            priority=priority,
            deadline=self.now + timeout,
            start_by=self.now + self.queue_timeout,
            keeps_kv=keep_kv,
            mask=make_mask(),
        )
        self.scheduler.add_request(request)
        self.live[request.request_id] = request

    @rule(
        count=st.integers(1, 4),
        prompt=st.lists(st.integers(0, 1), min_size=1, max_size=24),
        max_tokens=st.integers(1, 10),
        timeout=st.one_of(st.just(inf), st.floats(0.01, 10.0)),
        keep_kv=st.booleans(),
        make_mask=st.sampled_from(MASKS),
    )
    def add_answers(
        self, count: int, prompt: list[int], max_tokens: int, timeout: float, keep_kv: bool, make_mask: MakeMask
    ) -> None:
        """Request an answer and `count` more answers to the same prompt."""
        self.add(prompt, max_tokens, False, "a", 0, timeout, keep_kv, make_mask)
        first = self.live[next(reversed(self.live))]
        for choice in range(1, count + 1):
            fork = first.fork(f"r{next(self.ids)}", choice, make_mask())
            self.scheduler.add_request(fork)
            self.live[fork.request_id] = fork

    @rule(again=st.integers(0, 3), partial=st.lists(st.integers(0, 1), min_size=1, max_size=6), keep_kv=st.booleans())
    @precondition(lambda self: self.finished_prompts)
    def advance(self, again: int, partial: list[int], keep_kv: bool) -> None:
        history = self.finished_prompts[again % len(self.finished_prompts)]
        self.add((history + partial)[:30], 3, False, "a", 0, inf, keep_kv)

    @rule(which=st.integers(0, 3), tenant=st.sampled_from(sorted(WEIGHTS)), name=st.sampled_from("xyz"))
    @precondition(lambda self: self.finished_prompts or self.live)
    def foresee(self, which: int, tenant: str, name: str) -> None:
        """Hint at a prefix that a later request may or may not continue."""
        prompts = [*self.finished_prompts, *(list(request.prompt_token_ids) for request in self.live.values())]
        history = prompts[which % len(prompts)]
        keys = extend_keys(ROOTS[tenant], history, BLOCK)
        self.scheduler.connector.add_hint(name, tenant, keys, history)

    @rule(name=st.sampled_from("xyz"))
    def leave(self, name: str) -> None:
        self.scheduler.connector.cancel_hint(name)

    @rule()
    @precondition(lambda self: len(self.in_flight) <= self.stages)
    def schedule(self) -> None:
        output = self._schedule()
        if output is not None:
            self.in_flight.append((output, self.worker.execute(output)))

    @rule(any_step=st.booleans())
    @precondition(lambda self: len(self.in_flight) <= self.stages)
    def refuse(self, any_step: bool) -> None:
        """Schedule a step that the worker refuses before any copy, if it has copies or if `any_step`."""
        output = self._schedule()
        if output is None:
            return
        result = None
        if output.copies or any_step:
            self.worker.refuse(output)
        else:
            result = self.worker.execute(output)
        self.in_flight.append((output, result))

    def _schedule(self) -> SchedulerOutput | None:
        self.now += 0.1
        running = [request for request in self.live.values() if request.status is RequestStatus.RUNNING]
        first = min(running, key=self._rank, default=None)
        oldest = self._oldest_of_tenants(running)
        output = self.scheduler.schedule(ahead=len(self.in_flight) >= self.stages)
        assert first is None or first.status is not RequestStatus.PREEMPTED, "the highest-ranked request was preempted"
        for request in oldest:
            stopped = request.status is RequestStatus.PREEMPTED
            assert not stopped or any(other.order < request.order for other in oldest), (
                "a tenant's oldest request was preempted"
            )
        assert self.scheduler.num_running <= MAX_RUNNING
        self._expire()
        assert output is None or self.live.keys() >= output.num_scheduled_tokens.keys()
        return output

    def _oldest_of_tenants(self, running: list[Request]) -> list[Request]:
        """Return the oldest running request of each tenant under "fair", and none under other policies.

        Such a request may be preempted only in favour of another tenant's oldest request that arrived before it.
        """
        if self.policy != "fair":
            return []
        tenants = {request.tenant for request in running}
        return [min((r for r in running if r.tenant == tenant), key=self._rank) for tenant in tenants]

    def _rank(self, request: Request) -> tuple[float, int]:
        return self.queue.level(request), request.order

    def _expire(self) -> None:
        for request in self.scheduler.take_expired():
            assert self.live.pop(request.request_id) is request
            if request.finish_reason == "timeout":
                assert request.deadline <= self.now
            else:
                assert request.finish_reason == "queue_timeout"
                assert request.start_by <= self.now
                assert request.receipt is None
        for request in self.live.values():
            assert request.deadline > self.now, "a deadline was missed"
            had_turn = request.receipt is not None or request.tiers_asked
            assert had_turn or request.start_by > self.now, "a request waits longer than the server allows"
        left = self.scheduler.seconds_to_deadline()
        earliest = min((request.deadline for request in self.live.values()), default=inf)
        assert (left if left is not None else inf) <= earliest - self.now

    @rule()
    @precondition(lambda self: self.in_flight)
    def update(self) -> None:
        output, result = self.in_flight[0]
        if result is None:
            self.fail()
            return
        self.in_flight.popleft()
        for update in self.scheduler.update(output, result):
            if update.finish_reason is not None:
                self._ended(self.live.pop(update.request.request_id))

    def _ended(self, request: Request) -> None:
        mask = type(request.mask)() if isinstance(request.mask, ToyMask) else None
        expected = expected_output(request.prompt_token_ids, request.sampling, VOCAB, mask)
        assert request.output_token_ids == expected
        receipt = request.receipt
        assert receipt is not None
        assert receipt.cached + receipt.computed == request.num_prompt_tokens
        assert min(receipt.reused["device"], receipt.reused["cpu"], receipt.reused["redis"], receipt.computed) >= 0
        self.finished_prompts.append([*request.prompt_token_ids, *request.output_token_ids])

    @rule(which=st.integers(0, 9))
    @precondition(lambda self: self.live)
    def abort(self, which: int) -> None:
        request_id = list(self.live)[which % len(self.live)]
        assert self.scheduler.finish_request(request_id, "abort") is self.live.pop(request_id)

    @rule(latency=st.integers(0, 6), up=st.booleans(), refuses=st.booleans())
    def weather(self, latency: int, up: bool, refuses: bool) -> None:
        self.store.latency, self.store.redis_up, self.store.refuses = latency, up, refuses

    @rule(
        answer_seconds=st.sampled_from((None, 0.001, 0.06, 0.3)),
        bytes_per_second=st.sampled_from((None, 1.0, 20.0, 1000.0)),
        all_known=st.booleans(),
        token_seconds=st.sampled_from((None, 0.001, 0.05)),
    )
    def believe(
        self,
        answer_seconds: float | None,
        bytes_per_second: float | None,
        all_known: bool,
        token_seconds: float | None,
    ) -> None:
        """Set the believed speed of the link to Redis and the believed cost of computing.

        A wrong belief may cost time, but must not change an answer.
        """
        self.store.speed = LinkSpeed(answer_seconds, bytes_per_second)
        self.prefill.token_seconds = token_seconds
        self.store.known = set(self.store.redis) if all_known else set()

    @rule(is_slow=st.booleans())
    def believe_steps(self, is_slow: bool) -> None:
        """Set the believed cost of a step. If tokens are slow, the answers of several tenants take turns."""
        cost, each = StepCost(), 0.02 if is_slow else 0.0001
        for counts in ({"a": 9}, {"a": 1}, {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 5}):
            cost.note(SchedulerOutput(step_id=0, num_scheduled_tokens=counts), 0.001 + each * sum(counts.values()))
        self.scheduler.step_time.cost = cost

    @rule(seconds=st.floats(0.0, 5.0))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self._expire()

    @rule(device=st.booleans())
    def forget(self, device: bool) -> None:
        """Drop unused blocks from host memory. With `device`, drop those on the device too and leave only Redis."""
        self.store.clear_cpu()
        if device:
            self.pool.forget_free()

    @rule(late=st.booleans())
    def lose_workers(self, late: bool) -> None:
        """Replace the workers with new ones that know no request and have an empty device.

        late: report the second of two lost steps only after another step was scheduled.
        """
        lost = [output for output, _ in self.in_flight]
        self.in_flight.clear()
        self.worker = ToyWorker(BLOCK, VOCAB, self.store.host, self.late)
        for output in lost[:1]:
            self.scheduler.lose_step(output)
        self.scheduler.lose_device()
        if late:
            self.schedule()
        for output in lost[1:]:
            self.scheduler.lose_step(output)

    @rule()
    @precondition(lambda self: self.in_flight)
    def fail(self) -> None:
        """Fail the oldest step in flight. The step after it, in flight or not yet scheduled, reports its copies."""
        output, result = self.in_flight.popleft()
        for request in self.scheduler.fail_step(output):
            assert self.live.pop(request.request_id) is request
        self.worker.refused.pop(output.step_id, None)
        if not output.num_scheduled_tokens or result is None:
            return
        for place, (behind, its_result) in enumerate(self.in_flight):
            if its_result is not None:
                transfers = (*result.transfers, *its_result.transfers)
                self.in_flight[place] = behind, replace(its_result, transfers=transfers)
                return
        self.worker.owed += result.transfers

    @rule(which=st.integers(0, 9), shared=st.integers(0, 12))
    @precondition(lambda self: self.finished_prompts)
    def erase(self, which: int, shared: int) -> None:
        """Erase the blocks of a finished conversation after its first `shared` tokens, for every tenant.

        No request finds them on the device afterwards, nor in a lower tier unless they are in use there.
        """
        token_ids = self.finished_prompts[which % len(self.finished_prompts)]
        keys = [key for root in ROOTS.values() for key in extend_keys(root, token_ids, BLOCK)[shared // BLOCK :]]
        self.scheduler.erase(keys)
        assert all(self.pool.acquire_published(key) is None for key in keys)
        used_below = {*self.store.reserved, *(key for key, locks in self.store.locks.items() if locks)}
        for key in {*keys} - used_below:
            assert key not in self.store.ready
            assert key not in self.store.redis or not self.store.redis_up

    @invariant()
    def owners_agree(self) -> None:
        assert_no_leaks(self.scheduler)

    @invariant()
    def blocks_hold_what_their_keys_say(self) -> None:
        """Check that published blocks, on the device and below, hold no rejected draft token."""
        for block in self.pool._blocks:
            if block.key is not None and block.token_ids:
                self.kept[block.key] = tuple(block.token_ids)
                assert self._holds(self.worker.device.get(block.block_id), block.key)
        for key, offset in self.store.ready.items():
            assert self._holds(self.store.host.get(offset), key)
        for key, slots in self.store.redis.items():
            assert self._holds(slots, key)

    def _holds(self, slots: Slots | None, key: BlockKey) -> bool:
        token_ids = self.kept.get(key)
        return token_ids is None or (slots is not None and tuple(slots[: len(token_ids)]) == token_ids)

    def run_down(self) -> None:
        for _ in range(3000):
            if not (self.live or self.in_flight or self.scheduler.has_unfinished_requests()):
                break
            self.schedule()
            if self.in_flight:
                self.update()
            assert_no_leaks(self.scheduler)
        assert not self.live, "a request never ended"

    def go(self, steps: int) -> None:
        for _ in range(steps):
            self.schedule()
            if self.in_flight:
                self.update()

    def teardown(self) -> None:
        self.run_down()
        self.go(50)
        assert_no_leaks(self.scheduler)
        assert self.pool.num_used == 0
        assert not self.worker.requests
        assert_no_leaks(self.store)
