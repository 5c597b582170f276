"""Chooses the work of each step: decodes first, prompt chunks with what is left of the token budget.

`update` may receive the result of step N after step N + 1 was scheduled: `num_computed_tokens` counts scheduled steps,
`num_confirmed_tokens` only those whose result came, and only confirmed blocks are published.
"""

import itertools
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cache_tiers.transfer import BlockCopy, TransferResult
from engine.errors import OverloadedError
from engine.kv.block_manager import BlockManager
from engine.outputs import FinishReason, KVReceipt
from engine.request import Request, RequestStatus
from engine.scheduling.budget import SchedulingBudget
from engine.scheduling.chunking import StepCost, prompt_tokens_beside, share_of_running_prompt
from engine.scheduling.output import (
    CachedRequestData,
    ModelRunnerOutput,
    NewRequestData,
    SchedulerOutput,
)
from engine.scheduling.tiering import Tiering


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """max_num_seqs: requests that hold blocks at once. max_num_batched_tokens: rows of one step. max_waiting: queue.

    itl_target: seconds that a step with running streams may take; 0 means twice a step without prompts.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    max_waiting: int
    itl_target: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenUpdate:
    """What a step did for one request: a token, its end, or both."""

    request: Request
    token_id: int | None
    finish_reason: FinishReason | None


class Scheduler:
    """Owner of every request's state. `tiering` is None when nothing lies below the device."""

    def __init__(
        self, limits: SchedulerLimits, blocks: BlockManager, tiering: Tiering | None, *, clock: Callable[[], float]
    ) -> None:
        self.limits = limits
        self.blocks = blocks
        self.tiering = tiering
        self.num_preemptions = 0
        self.cost = StepCost()
        self._clock = clock
        self._step_ids = itertools.count()
        self._requests: dict[str, Request] = {}
        self._waiting: deque[Request] = deque()
        self._loading: dict[str, Request] = {}
        self._running: list[Request] = []
        self._dropped: list[str] = []
        self._copies: list[BlockCopy] = []
        self._last_step_tokens = 0

    # Requests come and go

    def add_request(self, request: Request) -> None:
        """Queue it. Raises OverloadedError when the queue is full."""
        if len(self._waiting) >= self.limits.max_waiting:
            raise OverloadedError(f"{len(self._waiting)} requests are already waiting; try again in a moment")
        self._requests[request.request_id] = request
        self._waiting.append(request)

    def finish_request(self, request_id: str, reason: FinishReason) -> Request | None:
        """End it in whatever state it is; its blocks are free for the next step. None if it is not known."""
        request = self._requests.pop(request_id, None)
        if request is None:
            return None
        if request.status is RequestStatus.LOADING:
            assert self.tiering is not None
            del self._loading[request_id]
            self.tiering.abort(request)
        elif request.status is RequestStatus.RUNNING:
            self._running.remove(request)
            self.blocks.free(request)
        else:
            self._waiting.remove(request)
            self.blocks.free(request)
        self._forget_in_worker(request)
        request.status, request.finish_reason = RequestStatus.FINISHED, reason
        return request

    @property
    def num_running(self) -> int:
        """Requests in the batch."""
        return len(self._running)

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return len(self._waiting)

    @property
    def num_loading(self) -> int:
        """Requests whose prefix is on its way."""
        return len(self._loading)

    def has_unfinished_requests(self) -> bool:
        """Whether any request has not ended."""
        return bool(self._requests)

    # One step

    def schedule(self) -> SchedulerOutput | None:
        """The next step's work, or None if there is none to do now."""
        loads, stores = self.tiering.take_copies(self._last_step_tokens) if self.tiering is not None else ((), ())
        budget = self._budget()
        scheduled: dict[str, int] = {}
        cached: list[CachedRequestData] = []
        preempted = self._schedule_running(budget, scheduled, cached)
        self._collect_loads()
        new = [] if preempted else self._schedule_waiting(budget, scheduled)
        if self.tiering is not None:
            loads += self.tiering.tiers.take_loads()
        self._last_step_tokens = sum(scheduled.values())
        if not (scheduled or loads or stores or self._dropped):
            return None
        dropped, self._dropped = tuple(self._dropped), []
        copies, self._copies = tuple(self._copies), []
        return SchedulerOutput(
            next(self._step_ids), tuple(new), tuple(cached), scheduled, dropped, copies, loads, stores
        )

    def _budget(self) -> SchedulingBudget:
        room = self.limits.max_num_batched_tokens
        streaming = any(request.num_pending_tokens == 1 for request in self._running)
        prompts = prompt_tokens_beside(self.cost, self.limits.itl_target, room) if streaming else room
        return SchedulingBudget(room, self.limits.max_num_seqs, prompts)

    def _schedule_running(
        self, budget: SchedulingBudget, scheduled: dict[str, int], cached: list[CachedRequestData]
    ) -> bool:
        """Decodes, then chunks of prompts that have begun. Whether anyone was preempted for them."""
        preempted_before = self.num_preemptions
        for request in sorted(self._running, key=lambda request: request.num_pending_tokens > 1):
            if budget.exhausted:
                break
            if request.status is not RequestStatus.RUNNING or request.will_reach_max_tokens:
                continue
            count = min(request.num_pending_tokens, self._room_for(request, budget))
            if count <= 0:
                continue
            first, before = request.num_computed_tokens, len(request.blocks)
            if self._make_room(request, first + count, scheduled):
                new_ids = tuple(block.block_id for block in request.blocks[before:])
                cached.append(CachedRequestData(request.request_id, new_ids, first))
                self._take(request, count, budget, scheduled)
        return self.num_preemptions > preempted_before

    def _room_for(self, request: Request, budget: SchedulingBudget) -> int:
        if request.num_pending_tokens <= 1:
            return budget.tokens
        others_wait = bool(self._waiting) and self._num_holding() < self.limits.max_num_seqs
        return min(budget.tokens, share_of_running_prompt(budget.prompt_tokens, others_wait=others_wait))

    def _make_room(self, request: Request, num_tokens: int, scheduled: dict[str, int]) -> bool:
        """Grow its table, at the cost of who waits, then of the latest arrival; False if that was itself."""
        while self.blocks.grow(request, num_tokens) is None:
            if self._reclaim_from_waiting(but=request):
                continue
            victim = next(r for r in reversed(self._running) if r.request_id not in scheduled)
            self._preempt(victim)
            if victim is request:
                return False
        return True

    def _reclaim_from_waiting(self, *, but: Request) -> bool:
        """Take back the restored blocks of the last in the queue that has any: nobody who waits may stop who runs.

        What was restored stays findable on the device until somebody needs its room.
        """
        for request in reversed(self._waiting):
            if request.blocks and request is not but:
                self.blocks.free(request)
                request.num_computed_tokens = request.num_confirmed_tokens = 0
                return True
        return False

    def _preempt(self, request: Request) -> None:
        self._running.remove(request)
        self.blocks.free(request)
        self._forget_in_worker(request)
        request.num_computed_tokens = request.num_confirmed_tokens = 0
        request.status = RequestStatus.PREEMPTED
        request.tiers_asked, request.restored = False, None
        self._waiting.appendleft(request)
        self.num_preemptions += 1

    def _forget_in_worker(self, request: Request) -> None:
        if request.known_to_worker:
            self._dropped.append(request.request_id)
            request.known_to_worker = False

    def _schedule_waiting(self, budget: SchedulingBudget, scheduled: dict[str, int]) -> list[NewRequestData]:
        new: list[NewRequestData] = []
        while self._waiting and not budget.exhausted and self._num_holding() < self.limits.max_num_seqs:
            if budget.prompt_tokens == 0:
                break
            request = self._waiting[0]
            if request.steps_in_flight:
                break
            while not (admitted := self._admit(request)):
                if self._running or not self._reclaim_from_waiting(but=request):
                    break
            if not admitted:
                break
            self._waiting.popleft()
            if request.status is RequestStatus.LOADING:
                self._loading[request.request_id] = request
                continue
            count = min(request.num_pending_tokens, budget.tokens, budget.prompt_tokens)
            grown = self.blocks.grow(request, request.num_computed_tokens + count)
            assert grown is not None
            request.status = RequestStatus.RUNNING
            request.known_to_worker = True
            self._running.append(request)
            new.append(self._new_request_data(request))
            self._take(request, count, budget, scheduled)
        return new

    def _num_holding(self) -> int:
        return len(self._running) + len(self._loading)

    def _admit(self, request: Request) -> bool:
        """Give it its cached prefix and see that all of its known tokens fit; may turn it to LOADING."""
        if not request.blocks:
            device = self.blocks.match_prefix(request)
            if not self.blocks.can_hold(request, request.num_tokens):
                self.blocks.free(request)
                return False
            if self.tiering is not None and not request.tiers_asked:
                request.tiers_asked = True
                if self.tiering.begin(request):
                    request.status = RequestStatus.LOADING
                    return True
            request.num_computed_tokens = request.num_confirmed_tokens = device * self.blocks.block_size
        if not self.blocks.can_hold(request, request.num_tokens):
            return False
        self._claim_tail(request)
        return True

    def _claim_tail(self, request: Request) -> None:
        if request.num_computed_tokens == len(request.blocks) * self.blocks.block_size:
            tokens, copy = self.blocks.claim_tail(request)
            request.num_computed_tokens += tokens
            request.num_confirmed_tokens = request.num_computed_tokens
            if copy is not None:
                self._copies.append(copy)
        if request.started is None:
            request.receipt = self._receipt(request)

    def _receipt(self, request: Request) -> KVReceipt:
        """Of its first admission: what was not restored and need not be computed was on the device."""
        cached = request.num_computed_tokens
        outcome, size = request.restored, self.blocks.block_size
        cpu = min(outcome.from_cpu * size, cached) if outcome is not None else 0
        redis = min(outcome.from_redis * size, cached - cpu) if outcome is not None else 0
        seconds = outcome.seconds if outcome is not None and outcome.num_blocks else 0.0
        return KVReceipt(cached - cpu - redis, cpu, redis, request.num_prompt_tokens - cached, seconds * 1e3)

    def _collect_loads(self) -> None:
        """Loaded requests go to the front of the queue, with their blocks."""
        if self.tiering is None:
            return
        for request, outcome in reversed(self.tiering.poll()):
            del self._loading[request.request_id]
            request.status = RequestStatus.WAITING
            request.restored = outcome
            self._waiting.appendleft(request)

    def _new_request_data(self, request: Request) -> NewRequestData:
        return NewRequestData(
            request.request_id,
            request.token_ids(0, request.num_tokens),
            request.num_prompt_tokens,
            tuple(block.block_id for block in request.blocks),
            request.num_computed_tokens,
            request.sampling,
        )

    def _take(self, request: Request, count: int, budget: SchedulingBudget, scheduled: dict[str, int]) -> None:
        budget.take(count)
        scheduled[request.request_id] = count
        request.num_computed_tokens += count
        request.steps_in_flight += 1
        if request.started is None:
            request.started = self._clock()
        if request.num_pending_tokens == 0:
            request.samples_in_flight += 1

    # Results

    def update(self, output: SchedulerOutput, result: ModelRunnerOutput) -> list[TokenUpdate]:
        """Take one step's result, in the order in which steps were scheduled."""
        self.blocks.end_copies(output.copies)
        if self.tiering is not None:
            self.tiering.complete(result.transfers)
        self.cost.note(output, result.seconds)
        updates = []
        for request_id, count in output.num_scheduled_tokens.items():
            request = self._requests.get(request_id)
            if request is None:
                continue
            update = self._update_request(request, count, result.sampled_token_ids.get(request_id))
            if update is not None:
                updates.append(update)
        return updates

    def _update_request(self, request: Request, count: int, token_id: int | None) -> TokenUpdate | None:
        request.steps_in_flight -= 1
        if token_id is not None:
            request.samples_in_flight -= 1
            request.output_token_ids.append(token_id)
        if request.status is RequestStatus.RUNNING:
            request.num_confirmed_tokens += count
            published = self.blocks.publish_full(request)
            if self.tiering is not None:
                self.tiering.offer(published)
        if token_id is None:
            return None
        reason = self._finish_reason(request, token_id)
        if reason is not None:
            self.finish_request(request.request_id, reason)
        return TokenUpdate(request, token_id, reason)

    def _finish_reason(self, request: Request, token_id: int) -> FinishReason | None:
        sampling, produced = request.sampling, len(request.output_token_ids)
        if token_id in sampling.stop_token_ids and produced > sampling.min_tokens:
            return "stop"
        if sampling.max_tokens is not None and produced >= sampling.max_tokens:
            return "length"
        return None

    def fail_step(self, output: SchedulerOutput) -> list[Request]:
        """A step raised: its requests end with "error", its copies count as failed. Returns the requests."""
        if self.tiering is not None:
            jobs = (*output.loads, *output.stores)
            self.tiering.complete(tuple(TransferResult(job.job_id, 0.0, "the step failed") for job in jobs))
        self.blocks.end_copies(output.copies)
        failed = [r for request_id in output.num_scheduled_tokens if (r := self._requests.get(request_id)) is not None]
        for request in failed:
            # Nobody knows what its last blocks hold.
            request.num_confirmed_tokens = 0
            self.finish_request(request.request_id, "error")
        return failed

    def check(self) -> None:
        """Raise AssertionError if blocks leak: free + used == total, and nothing is used when nobody runs."""
        self.blocks.pool.check()
        if self.tiering is not None:
            self.tiering.check()
        held = {block.block_id for request in self._requests.values() for block in request.blocks}
        idle = self.blocks.num_copied == 0 and (self.tiering is None or self.tiering.is_quiet)
        if idle:
            assert len(held) == self.blocks.pool.num_used, "a block is used by no request"
