"""Chooses the work of each step: decodes first, then prompts, among which what is left of the step is divided.

`update` may receive the result of step N after step N + 1 was scheduled: `num_computed_tokens` counts scheduled steps,
`num_confirmed_tokens` only those whose result came, and only confirmed blocks are published.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cache_tiers.block_key import BlockKey
from cache_tiers.transfer import TransferJob
from engine.errors import OverloadedError
from engine.kv.block_manager import BlockManager
from engine.outputs import FinishReason, TokenLogprobs
from engine.request import Request, RequestStatus
from engine.scheduling.admission import Admission
from engine.scheduling.budget import SchedulingBudget
from engine.scheduling.chunking import AUTO_STEP_SECONDS, longest_chunk
from engine.scheduling.division import Claim
from engine.scheduling.ending import reason_to_end
from engine.scheduling.held_back import HeldBack
from engine.scheduling.multi_step import LONGEST_STEP_SECONDS, passes_of_step, passes_within
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.overload import TurnPace, retry_after
from engine.scheduling.queue.request_queue import RequestQueue
from engine.scheduling.request_states import RequestStates
from engine.scheduling.room import Room
from engine.scheduling.shares import Shares
from engine.scheduling.step_draft import StepDraft
from engine.scheduling.step_time import StepTime
from engine.scheduling.tiering import Tiering
from engine.speculation.proposer import Proposer
from engine.speculation.speculation import DraftPlan, Speculation


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """max_num_seqs: requests that hold blocks at once. max_num_batched_tokens: rows of one step.

    itl_target: seconds that a step with running streams may take; 0 means what `prompt_tokens_beside` says.
    decode_passes: most forward passes of one step while nobody waits.
    """

    max_num_seqs: int
    max_num_batched_tokens: int
    itl_target: float = 0.0
    decode_passes: int = 1


@dataclass(frozen=True, slots=True)
class TokenUpdate:
    """What a step did for one request: a token, its end, or both."""

    request: Request
    token_id: int | None
    finish_reason: FinishReason | None
    logprobs: TokenLogprobs | None = None


@dataclass(slots=True)
class _Taken:
    """The result of a step for one request, while it is taken. reason: why the answer has ended."""

    request: Request
    count: int
    token_ids: tuple[int, ...]
    updates: list[TokenUpdate] = field(default_factory=list)
    reason: FinishReason | None = None


class Scheduler:
    """Decides what each step holds. `tiering` is None when nothing lies below the device, `proposer` when nothing is
    drafted."""

    def __init__(
        self,
        limits: SchedulerLimits,
        blocks: BlockManager,
        tiering: Tiering | None,
        queue: RequestQueue,
        *,
        clock: Callable[[], float],
        proposer: Proposer | None = None,
    ) -> None:
        self.limits = limits
        self.blocks = blocks
        self.tiering = tiering
        self.step_time = StepTime(queue, limits.itl_target)
        self._clock = clock
        self._step_ids = itertools.count()
        self._queue = queue
        self._states = RequestStates(queue, blocks, tiering)
        self._room = Room(self._states, blocks, tiering, num_places=limits.max_num_seqs)
        self._admission = Admission(self._states, blocks, tiering, self._room)
        self._standing: list[Request] = []
        self._pace = TurnPace()
        self._expired: list[Request] = []
        self._last_step_tokens = 0
        self._num_prefilled = 0
        self._held_back = HeldBack(tiering)
        most_rows = limits.max_num_batched_tokens
        self._speculation = Speculation(proposer, blocks, most_rows=most_rows) if proposer is not None else None

    # Requests come and go

    def add_request(self, request: Request) -> None:
        """Queue it. Raises OverloadedError when there is no place for it."""
        if not self._queue.accepts(request.tenant, self._states.followers.by_tenant()):
            raise OverloadedError(
                f"{len(self._queue)} requests are already waiting; try again in a moment",
                retry_after=self.retry_after(),
            )
        self.readmit(request)

    def readmit(self, request: Request) -> None:
        """Queue a request that was accepted before, by this scheduler's predecessor."""
        self._states.add(request)
        self.step_time.arrived(request, self._clock())
        if self.tiering is not None and not request.is_fork:
            self.tiering.arrived(request)

    def drop_from_worker(self, request_ids: Iterable[str]) -> None:
        """Make the worker forget, in the next step, requests that it knows from this scheduler's predecessor."""
        self._states.drop_from_worker(request_ids)

    def finish_request(self, request_id: str, reason: FinishReason) -> Request | None:
        """End it in whatever state it is; its blocks are free for the next step. None if it is not known."""
        return self._states.finish(request_id, reason)

    def get(self, request_id: str) -> Request | None:
        """The request, unless it has ended."""
        return self._states.get(request_id)

    def ids_of_tenant(self, tenant: str) -> list[str]:
        """Its requests that have not ended."""
        return [request.request_id for request in self._states if request.tenant == tenant]

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Nobody finds these blocks in any tier any more, nor is told what they held. Requests that use them go on."""
        self.blocks.pool.erase(keys)
        self._states.prefixes.erase(keys)
        if self.tiering is not None:
            self.tiering.erase(keys)

    def retry_after(self) -> int:
        """Seconds after which a client for whom there was no place may try again."""
        return retry_after(len(self._queue), self._pace.seconds_each)

    def take_expired(self) -> list[Request]:
        """Requests that have ended because a deadline passed, since the last call."""
        self._expire(self._clock())
        expired, self._expired = self._expired, []
        return expired

    def seconds_to_deadline(self) -> float | None:
        """How soon `take_expired` has something to tell; None if no request has a deadline."""
        if self._expired:
            return 0.0
        next_at = self._states.deadlines.next_at
        return max(0.0, next_at - self._clock()) if next_at is not None else None

    def _expire(self, now: float) -> None:
        while (due := self._states.deadlines.due(now)) is not None:
            request, reason = due
            self._states.finish(request.request_id, reason)
            self._expired.append(request)

    @property
    def num_running(self) -> int:
        """Requests in the batch."""
        return len(self._states.running)

    @property
    def num_waiting(self) -> int:
        """Requests in the queue."""
        return len(self._queue)

    @property
    def num_loading(self) -> int:
        """Requests whose prefix is on its way."""
        return self._states.num_loading

    @property
    def num_following(self) -> int:
        """Requests whose beginning another one computes."""
        return len(self._states.followers)

    @property
    def num_preemptions(self) -> int:
        """Running requests that were stopped for lack of blocks."""
        return self._states.num_preemptions

    @property
    def num_reclaims(self) -> int:
        """Waiting requests that lost the blocks that had been restored for them."""
        return self._states.num_reclaims

    @property
    def num_preempted(self) -> int:
        """Requests in the queue that ran before. It looks at every request."""
        return sum(request.status is RequestStatus.PREEMPTED for request in self._states)

    @property
    def num_drafted(self) -> int:
        """Tokens that were computed because they might come."""
        return self._speculation.num_drafted if self._speculation is not None else 0

    @property
    def num_accepted(self) -> int:
        """Those of them that came."""
        return self._speculation.num_accepted if self._speculation is not None else 0

    @property
    def num_prefilled(self) -> int:
        """Prompt tokens computed by steps that have ended; again where a preemption lost them."""
        return self._num_prefilled

    def has_unfinished_requests(self) -> bool:
        """Whether any request has not ended."""
        return len(self._states) > 0

    # One step

    def schedule(self) -> SchedulerOutput | None:
        """The next step's work, or None if there is none to do now."""
        now = self._clock()
        self._expire(now)
        stores = self._stores()
        self._turn_to_tiers(now)
        self._collect_loads(now)
        self._states.release_followers()
        self._start_below_share(now)
        plan = self._plan_drafts()
        step_seconds = self.step_time.shared_seconds(self._states.running, now)
        decodes = self._decodes(step_seconds)
        budget = self._budget(len(decodes), step_seconds)
        draft = StepDraft(now, budget, 1 if plan.drafts or plan.is_near else self._passes())
        if self._schedule_decodes(draft, decodes, plan.drafts):
            self._start_waiting(now)
        self._schedule_prompts(draft)
        loads: tuple[TransferJob, ...] = ()
        if self.tiering is not None:
            if not self.has_unfinished_requests():
                self.tiering.foresight.lift()
            loads = self.tiering.take_loads(self._load_seconds())
        self._last_step_tokens = draft.passes * sum(draft.counts.values())
        # A step without tokens waits for late copies, whose results nothing else would bring.
        late = self.tiering is not None and len(self.tiering.late) > 0
        if not (draft.counts or loads or stores or self._states.has_dropped or late):
            return None
        dropped, copies = self._states.take_dropped(), self._admission.take_copies()
        new, cached = tuple(draft.new), tuple(draft.cached)
        return SchedulerOutput(
            next(self._step_ids),
            new,
            cached,
            draft.counts,
            dropped,
            copies,
            loads,
            stores,
            draft.passes,
            draft.masks,
            draft.is_awaited,
            draft.drafts,
        )

    def _stores(self) -> tuple[TransferJob, ...]:
        if self.tiering is None:
            return ()
        running, others_wait = self._states.running, len(self._queue) > 0
        prompts = any(not request.output_token_ids for request in running)
        return self.tiering.take_stores(
            self._last_step_tokens,
            at_rest=not running,
            others_wait=others_wait,
            prompts=prompts,
            urgent=self._held_back.take_any(),
        )

    def _load_seconds(self) -> float:
        """Return how long the copies up of a step may take: half of the target, if requests run that wait for them."""
        target = self.limits.itl_target or AUTO_STEP_SECONDS
        return target / 2 if self._states.running else target

    def _turn_to_tiers(self, now: float) -> None:
        if self.tiering is not None:
            for request in self.tiering.take_answered():
                self._states.suspend(request, now)

    def _plan_drafts(self) -> DraftPlan:
        if self._speculation is None:
            return DraftPlan()
        running = list(self._states.running)
        return self._speculation.plan(running, self.step_time.cost.decode_seconds(len(running)))

    def _passes(self) -> int:
        running = self._states.running
        # Who may join this step has prompt to compute, and that takes one pass.
        if not running or len(self._queue) or self._states.num_loading or len(self._states.followers):
            return 1
        longest = self.limits.itl_target or LONGEST_STEP_SECONDS
        most = passes_within(self.limits.decode_passes, self.step_time.cost.decode_seconds(len(running)), longest)
        return passes_of_step(most, running, self.blocks) if most > 1 else 1

    def _decodes(self, step_seconds: float | None) -> Sequence[Request]:
        """Return the running requests that get a token in this step if they find room for it."""
        running = self._states.running
        decodes = [request for request in running if _is_decode(request) and self._num_computable(request)]
        prompts = (request for request in running if not _is_decode(request))
        return self.step_time.choose_decodes(decodes, prompts, step_seconds)

    def _budget(self, num_decodes: int, step_seconds: float | None) -> SchedulingBudget:
        room = self.limits.max_num_batched_tokens
        prompts = self.step_time.prompt_tokens(num_decodes, step_seconds, room)
        return SchedulingBudget(room, self.limits.max_num_seqs, prompts)

    def _schedule_decodes(
        self, draft: StepDraft, decodes: Sequence[Request], drafts: Mapping[str, tuple[int, ...]]
    ) -> bool:
        """Schedule a token of each of `decodes`; return whether all found room, and none was stopped for it."""
        preempted_before = self.num_preemptions
        self._standing = []
        for request in decodes:
            if draft.budget.exhausted:
                break
            # One before it may have stopped it for its blocks.
            if request.status is RequestStatus.RUNNING:
                self._schedule(request, 1, draft, drafts.get(request.request_id, ()))
        return not self._standing and self.num_preemptions == preempted_before

    def _schedule_prompts(self, draft: StepDraft) -> None:
        """Divide what the step has left among the prompts in the batch."""
        prompts = [request for request in self._states.running if not _is_decode(request)]
        claims = [
            (request, self._claim(request, most)) for request in prompts if (most := self._num_computable(request))
        ]
        room = min(draft.budget.tokens, draft.budget.prompt_tokens)
        chunks = self.step_time.divide_prompts([claim for _, claim in claims if claim.tokens > 0], room)
        for request, claim in claims:
            count = chunks.get(claim.request_id, 0)
            # A prompt before it may have stopped it for its blocks.
            if count and not draft.budget.exhausted and request.status is RequestStatus.RUNNING:
                self._schedule(request, count, draft)

    def _claim(self, request: Request, most: int) -> Claim:
        tokens = self._until_answer(request, min(most, longest_chunk(request)))
        left, tenant = request.num_pending_tokens, self._queue.tenant_of(request)
        return Claim(request.request_id, tenant, tokens, left, self._queue.urgency(request), request.order)

    def _num_computable(self, request: Request) -> int:
        """Return how many tokens of it could be computed now."""
        if request.status is not RequestStatus.RUNNING or request.will_reach_max_tokens:
            return 0
        if request.may_be_sampled:
            return request.num_pending_tokens
        # The last token of a prompt waits for its mask, and no other request with it.
        waits_for_mask = not (request.num_drafted or request.samples_in_flight)
        return request.num_pending_tokens - 1 if waits_for_mask else 0

    def _schedule(self, request: Request, count: int, draft: StepDraft, speculated: tuple[int, ...] = ()) -> None:
        """Put `count` tokens of a running request into the step, if it finds room for them."""
        num_blocks, more = len(request.blocks), len(speculated) + draft.passes - 1
        if not self._room.grow(request, request.num_computed_tokens + count + more, draft):
            self._standing.append(request)
        elif request.known_to_worker:
            draft.add_cached(request, count, num_blocks, speculated)
            self._queue.charge(request, count + draft.passes - 1)
        else:
            draft.add_new(request, count)
            self._queue.charge(request, count)

    def _until_answer(self, request: Request, count: int) -> int:
        """At most `count`: a long chunk should not be under way when Redis answers that it has the prompt."""
        most = self.tiering.tokens_until_answer(request) if self.tiering is not None else None
        return count if most is None else min(count, most)

    # Waiting requests begin

    def _start_below_share(self, now: float) -> None:
        """Begin requests of tenants that hold less than their share, at the cost of tenants that hold more.

        To be called before the running requests take blocks and become part of the step.
        """
        while (found := self._next_below_share(now)) is not None:
            request, stoppable = found
            self._start(request, now)
            if request.status is not RequestStatus.FOLLOWING and len(self._states.running) > self.limits.max_num_seqs:
                self._room.stop_one(stoppable, 0, now)

    def _next_below_share(self, now: float) -> tuple[Request, list[Request]] | None:
        """Return a waiting request for which there is room now, and the requests that may be stopped for its place."""
        if not len(self._queue):
            return None
        shares = self._states.shares(self.limits.max_num_seqs)
        standing = [shares.rank(request) for request in self._standing if request in self._states.running]
        for request in self._queue.candidates(now):
            rank = shares.rank(request)
            if request.steps_in_flight or (standing and min(standing) < rank) or self._held_back.holds(request, now):
                continue
            stoppable = self._stoppable_for(request, shares)
            if stoppable and self._admission.admit(request, now, stoppable):
                return request, stoppable
        return None

    def _stoppable_for(self, request: Request, shares: Shares) -> list[Request]:
        num_blocks = self.blocks.num_blocks_for(request.num_tokens)
        return [other for other in self._states.running if shares.may_begin_before(request, num_blocks, other)]

    def _start_waiting(self, now: float) -> None:
        """Begin requests in the order of the queue while there are places and blocks that nobody uses."""
        while self._states.num_holding < self.limits.max_num_seqs:
            request = self._next_waiting(now)
            if request is None:
                return
            self._start(request, now)

    def _next_waiting(self, now: float) -> Request | None:
        """Return a waiting request for which there is room; one that is overdue is passed only by those before it in
        rank."""
        overdue: Request | None = None
        for request in self._queue.candidates(now):
            if overdue is not None and not self._ranks_before(request, overdue):
                continue
            if self._held_back.holds(request, now):
                continue
            if not request.steps_in_flight and self._admit(request, now):
                return request
            if self._queue.is_overdue(request, now):
                overdue = request
        return None

    def _ranks_before(self, request: Request, other: Request) -> bool:
        shares = self._states.shares(self.limits.max_num_seqs)
        return shares.rank(request) < shares.rank(other)

    def _admit(self, request: Request, now: float) -> bool:
        """Give it room: while others run, it waits for their blocks; else it takes what others wait with."""
        while not self._admission.admit(request, now):
            if self._states.running or not self._states.reclaim_restored(but=request):
                return False
        return True

    def _start(self, request: Request, now: float) -> None:
        """Let a request begin that was admitted."""
        self._states.start(request, now)
        if request.status is not RequestStatus.FOLLOWING:
            self._pace.note(now, others_wait=len(self._queue) > 0)

    def _collect_loads(self, now: float) -> None:
        if self.tiering is not None:
            for request in self.tiering.poll():
                self._states.loaded(request, now)

    # Results

    def update(self, output: SchedulerOutput, result: ModelRunnerOutput) -> list[TokenUpdate]:
        """Take one step's result, in the order in which steps were scheduled."""
        self.blocks.end_copies(output.copies)
        if self.tiering is not None:
            self.tiering.complete(output, result.transfers)
            if output.total_tokens:
                self.tiering.computed(output, result.seconds / output.passes)
        self.step_time.cost.note(output, result.seconds / output.passes)
        if self._speculation is not None and output.total_tokens:
            plain_seconds = self.step_time.cost.decode_seconds(len(output.num_scheduled_tokens))
            self._speculation.computed(output, result, plain_seconds)
        taken: list[_Taken] = []
        for request_id, count in output.num_scheduled_tokens.items():
            request = self._states.get(request_id)
            if request is not None:
                if chunk := result.prompt_logprobs.get(request_id):
                    request.prompt_logprobs[chunk.start :] = chunk.tokens
                token_ids = result.sampled_token_ids.get(request_id, ())
                if speculated := output.drafts.get(request_id):
                    self._take_speculated(request, speculated, token_ids)
                    count -= len(speculated)
                taken.append(_Taken(request, count, token_ids))
                self._append_tokens(taken[-1], token_ids, result.logprobs.get(request_id, ()))
        # Every mask was begun above, so they are waited for together.
        return [update for each in taken for update in self._settle(each)]

    def _append_tokens(
        self, taken: "_Taken", token_ids: Sequence[int], logprobs: tuple[TokenLogprobs, ...] = ()
    ) -> None:
        """Append tokens until one ends the answer, and begin the mask behind them."""
        request = taken.request
        for index, token_id in enumerate(token_ids):
            request.append_token(token_id)
            taken.reason = reason_to_end(request, token_id)
            logprob = logprobs[index] if index < len(logprobs) else None
            taken.updates.append(TokenUpdate(request, token_id, taken.reason, logprob))
            if taken.reason is not None:
                # What later passes computed behind its end is nobody's.
                return
        if request.mask is not None:
            request.mask.begin()

    def _settle(self, taken: "_Taken") -> list[TokenUpdate]:
        """Append what the mask forces, publish what was computed, and end what has come to its end."""
        request, count, token_ids, updates = taken.request, taken.count, taken.token_ids, taken.updates
        request.steps_in_flight -= 1
        request.samples_in_flight -= len(token_ids)
        if token_ids and taken.reason is None:
            self._append_tokens(taken, request.forced_tokens())
        if request.status is RequestStatus.RUNNING:
            self._num_prefilled += max(0, min(count, request.num_prompt_tokens - request.num_confirmed_tokens))
            request.num_confirmed_tokens += count + max(0, min(len(updates), len(token_ids)) - 1)
            published = self.blocks.publish_full(request)
            if self.tiering is not None:
                self.tiering.offer(request, published)
        if taken.reason is not None:
            self.finish_request(request.request_id, taken.reason)
        return updates

    def _take_speculated(self, request: Request, speculated: tuple[int, ...], token_ids: tuple[int, ...]) -> None:
        """What stands of a draft was computed like any other token; the next step writes over the rest."""
        assert self._speculation is not None
        accepted = len(token_ids) - 1
        self._speculation.note(speculated, accepted)
        request.num_drafted = 0
        # Scheduled as one, more have come of it.
        request.samples_in_flight += accepted
        if request.status is RequestStatus.RUNNING:
            request.num_computed_tokens += accepted
            self._queue.charge(request, accepted)

    def lose_step(self, output: SchedulerOutput) -> None:
        """There will be no result of a step, and what it wrote is lost: its copies count as failed."""
        if self.tiering is not None:
            self.tiering.lose_step(output)
        self.blocks.end_copies(output.copies)
        for request_id in output.num_scheduled_tokens:
            request = self._states.get(request_id)
            if request is not None:
                request.steps_in_flight -= 1
                if request_id in output.drafts:
                    request.num_drafted = 0
                if not request.steps_in_flight:
                    request.samples_in_flight = 0

    def lose_device(self) -> None:
        """What the device's blocks held is lost, and the workers know no request any more: all of them wait for another
        turn, and take what the tiers below have."""
        if self.tiering is not None:
            self.tiering.lose_device()
        self._states.lose_device(self._clock())
        self.blocks.pool.forget_all()

    def fail_step(self, output: SchedulerOutput) -> list[Request]:
        """End the requests of a step that raised with "error", and return them."""
        if self.tiering is not None:
            self.tiering.fail_step(output)
        self.blocks.end_copies(output.copies)
        failed = [r for request_id in output.num_scheduled_tokens if (r := self._states.get(request_id)) is not None]
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
        held = {block.block_id for request in self._states for block in request.blocks}
        idle = self.blocks.num_copied == 0 and (self.tiering is None or self.tiering.is_quiet)
        if idle:
            assert len(held) == self.blocks.pool.num_used, "a block is used by no request"


def _is_decode(request: Request) -> bool:
    """Tell whether all that can be computed of it is its next token."""
    return request.num_pending_tokens == 1 and request.known_to_worker
