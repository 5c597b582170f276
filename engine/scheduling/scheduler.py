"""Chooses the work of each step: decodes first, prompt chunks with what is left of the token budget.

`update` may receive the result of step N after step N + 1 was scheduled: `num_computed_tokens` counts scheduled steps,
`num_confirmed_tokens` only those whose result came, and only confirmed blocks are published.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cache_tiers.block_key import BlockKey
from cache_tiers.transfer import TransferJob, TransferResult
from engine.errors import OverloadedError
from engine.kv.block_manager import BlockManager
from engine.outputs import FinishReason, TokenLogprobs
from engine.request import Request, RequestStatus
from engine.scheduling.admission import Admission
from engine.scheduling.budget import SchedulingBudget
from engine.scheduling.chunking import StepCost, longest_chunk, prompt_tokens_beside, share_of_running_prompt
from engine.scheduling.ending import reason_to_end
from engine.scheduling.multi_step import LONGEST_STEP_SECONDS, passes_of_step, passes_within
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.overload import TurnPace, retry_after
from engine.scheduling.queue.request_queue import RequestQueue
from engine.scheduling.request_states import RequestStates
from engine.scheduling.room import Room
from engine.scheduling.step_draft import StepDraft
from engine.scheduling.tiering import Tiering
from engine.speculation.proposer import Proposer
from engine.speculation.speculation import DraftPlan, Speculation


@dataclass(frozen=True, slots=True)
class SchedulerLimits:
    """max_num_seqs: requests that hold blocks at once. max_num_batched_tokens: rows of one step.

    itl_target: seconds that a step with running streams may take; 0 means twice a step without prompts.
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
        self.cost = StepCost()
        self._clock = clock
        self._step_ids = itertools.count()
        self._queue = queue
        self._states = RequestStates(queue, blocks, tiering)
        self._admission = Admission(self._states, blocks, tiering)
        self._room = Room(self._states, blocks, tiering)
        self._pace = TurnPace()
        self._expired: list[Request] = []
        self._last_step_tokens = 0
        self._num_prefilled = 0
        most_rows = limits.max_num_batched_tokens
        self._speculation = Speculation(proposer, blocks, most_rows=most_rows) if proposer is not None else None

    # Requests come and go

    def add_request(self, request: Request) -> None:
        """Queue it. Raises OverloadedError when there is no place for it."""
        if not self._queue.accepts(request.tenant):
            raise OverloadedError(
                f"{len(self._queue)} requests are already waiting; try again in a moment",
                retry_after=self.retry_after(),
            )
        self.readmit(request)

    def readmit(self, request: Request) -> None:
        """Queue a request that was accepted before, by this scheduler's predecessor."""
        self._states.add(request)
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
        loads, stores = self._copies()
        self._turn_to_tiers(now)
        plan = self._plan_drafts()
        draft = StepDraft(now, self._budget(), 1 if plan.drafts or plan.is_near else self._passes())
        all_have_room = self._schedule_running(draft, plan.drafts)
        self._collect_loads(now)
        self._states.release_followers()
        if all_have_room:
            self._schedule_waiting(draft)
        if self.tiering is not None:
            if not self.has_unfinished_requests():
                self.tiering.foresight.lift()
            loads += self.tiering.tiers.take_loads()
        self._last_step_tokens = draft.passes * sum(draft.counts.values())
        if not (draft.counts or loads or stores or self._states.has_dropped):
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

    def _copies(self) -> tuple[tuple[TransferJob, ...], tuple[TransferJob, ...]]:
        if self.tiering is None:
            return (), ()
        at_rest, others_wait = not self._states.running, len(self._queue) > 0
        return self.tiering.take_copies(self._last_step_tokens, at_rest=at_rest, others_wait=others_wait)

    def _turn_to_tiers(self, now: float) -> None:
        if self.tiering is not None:
            for request in self.tiering.take_answered():
                self._states.suspend(request, now)

    def _plan_drafts(self) -> DraftPlan:
        if self._speculation is None:
            return DraftPlan()
        running = list(self._states.running)
        return self._speculation.plan(running, self.cost.decode_seconds(len(running)))

    def _passes(self) -> int:
        running = self._states.running
        # Who may join this step has prompt to compute, and that takes one pass.
        if not running or len(self._queue) or self._states.num_loading or len(self._states.followers):
            return 1
        longest = self.limits.itl_target or LONGEST_STEP_SECONDS
        most = passes_within(self.limits.decode_passes, self.cost.decode_seconds(len(running)), longest)
        return passes_of_step(most, running, self.blocks) if most > 1 else 1

    def _budget(self) -> SchedulingBudget:
        room = self.limits.max_num_batched_tokens
        streams = sum(request.num_pending_tokens == 1 for request in self._states.running)
        prompts = prompt_tokens_beside(self.cost, streams, self.limits.itl_target, room)
        return SchedulingBudget(room, self.limits.max_num_seqs, prompts)

    def _schedule_running(self, draft: StepDraft, drafts: Mapping[str, tuple[int, ...]]) -> bool:
        """Decodes, then chunks of prompts that have begun. Whether all found room, and nobody was stopped for it."""
        preempted_before, all_have_room = self.num_preemptions, True
        pending = [(request, request.num_pending_tokens) for request in self._states.running]
        for request, count in sorted(pending, key=lambda each: each[1] > 1):
            if draft.budget.exhausted:
                break
            if request.status is not RequestStatus.RUNNING or request.will_reach_max_tokens:
                continue
            if not request.may_be_sampled:
                continue
            if count > 1:
                count = min(count, self._tokens_of_prompt(request, draft.budget))
            if count <= 0:
                continue
            num_blocks, speculated = len(request.blocks), drafts.get(request.request_id, ())
            more = len(speculated) + draft.passes - 1
            if self._room.grow(request, request.num_computed_tokens + count + more, draft):
                draft.add_cached(request, count, num_blocks, speculated)
                self._queue.charge(request, count + draft.passes - 1)
            else:
                all_have_room = False
        return all_have_room and self.num_preemptions == preempted_before

    def _tokens_of_prompt(self, request: Request, budget: SchedulingBudget) -> int:
        others_wait = len(self._queue) > 0 and self._states.num_holding < self.limits.max_num_seqs
        share = share_of_running_prompt(budget.prompt_tokens, others_wait=others_wait)
        return self._until_answer(request, min(budget.tokens, share, longest_chunk(request)))

    def _until_answer(self, request: Request, count: int) -> int:
        """At most `count`: a long chunk should not be under way when Redis answers that it has the prompt."""
        most = self.tiering.tokens_until_answer(request) if self.tiering is not None else None
        return count if most is None else min(count, most)

    def _schedule_waiting(self, draft: StepDraft) -> None:
        budget = draft.budget
        while not budget.exhausted and budget.prompt_tokens and self._states.num_holding < self.limits.max_num_seqs:
            request = self._queue.peek(draft.now)
            if request is None or request.steps_in_flight or not self._admit(request):
                break
            self._states.start(request, draft.now)
            if request.status is RequestStatus.FOLLOWING:
                continue
            self._pace.note(draft.now, others_wait=len(self._queue) > 0)
            if request.status is RequestStatus.RUNNING:
                most = min(budget.tokens, budget.prompt_tokens, longest_chunk(request))
                count = min(request.num_pending_tokens, most)
                count = max(1, self._until_answer(request, count))
                if 1 < count == request.num_pending_tokens and not request.may_be_sampled:
                    # The last token waits for the mask, and no other request with it.
                    count -= 1
                grown = self.blocks.grow(request, request.num_computed_tokens + count)
                assert grown is not None
                draft.add_new(request, count)
                self._queue.charge(request, count)

    def _admit(self, request: Request) -> bool:
        """While others run, it waits for their blocks; else it takes what others wait with."""
        running = self._states.running
        promised = sum(map(self.blocks.num_missing, running))
        while not self._admission.admit(request, promised):
            if running or not self._states.reclaim_restored(but=request):
                return False
        return True

    def _collect_loads(self, now: float) -> None:
        if self.tiering is not None:
            for request in self.tiering.poll():
                self._states.loaded(request, now)

    # Results

    def update(self, output: SchedulerOutput, result: ModelRunnerOutput) -> list[TokenUpdate]:
        """Take one step's result, in the order in which steps were scheduled."""
        self.blocks.end_copies(output.copies)
        if self.tiering is not None:
            self.tiering.complete(result.transfers)
            if output.total_tokens:
                self.tiering.computed(output, result.seconds / output.passes)
        self.cost.note(output, result.seconds / output.passes)
        if self._speculation is not None and output.total_tokens:
            plain_seconds = self.cost.decode_seconds(len(output.num_scheduled_tokens))
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

    def _fail_copies(self, output: SchedulerOutput) -> None:
        if self.tiering is not None:
            jobs = (*output.loads, *output.stores)
            self.tiering.complete(tuple(TransferResult(job.job_id, 0.0, "the step failed") for job in jobs))
        self.blocks.end_copies(output.copies)

    def lose_step(self, output: SchedulerOutput) -> None:
        """There will be no result of a step, and what it wrote is lost: its copies count as failed."""
        self._fail_copies(output)
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
        """A step raised: its requests end with "error", its copies count as failed. Returns the requests."""
        self._fail_copies(output)
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
