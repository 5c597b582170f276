"""Scheduler with continuous batching: each step holds decodes first, and prompts share the rest of it.

`update` may receive the result of step N after step N + 1 was scheduled. `num_computed_tokens` counts all scheduled
steps, `num_confirmed_tokens` only steps whose result was received. Only confirmed blocks are published.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cache_tiers.leak_check import LeakCheck
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.transfer import TransferJob
from engine.api.errors import OverloadedError
from engine.api.outputs import FinishReason
from engine.block_tables.block_manager import BlockManager
from engine.offload.interface import TierConnector
from engine.offload.reuse_notes import ReuseNotes
from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from engine.scheduling.admission import Admission
from engine.scheduling.admission_order import AdmissionOrder, retry_after
from engine.scheduling.block_allocation import BlockAllocation
from engine.scheduling.queue.request_queue import RequestQueue
from engine.scheduling.request_states import RequestStates
from engine.scheduling.results import StepResults, TokenUpdate
from engine.scheduling.step_draft import Batches, SchedulingBudget, StepDraft
from engine.scheduling.step_share import Claim
from engine.scheduling.step_size import (
    AUTO_STEP_SECONDS,
    LONGEST_STEP_SECONDS,
    SMALLEST_CHUNK,
    SchedulerLimits,
    longest_chunk,
    passes_of_step,
    passes_within,
    reports_prompt,
)
from engine.scheduling.step_time import StepTime
from engine.speculation.draft_cost import PlainStep
from engine.speculation.guess import DraftSource, Proposer
from engine.speculation.model_drafts import ModelDrafts
from engine.speculation.phrases import KnownAnswer, Phrases
from engine.speculation.speculation import DraftPlan, Speculation


class Scheduler:
    """Scheduler of all requests. `clock` gives seconds.

    connector: connection to the tiers below the device. proposer: source of draft tokens; None turns speculation off.
    reuse: counts of what tiers of other sizes would find; None for no counts.
    phrases: what the proposer knows of finished answers; None if it needs none.
    model_drafts: knowledge of the workers' draft model; None if they have none. Requires a proposer.
    """

    def __init__(
        self,
        limits: SchedulerLimits,
        blocks: BlockManager,
        connector: TierConnector,
        queue: RequestQueue,
        *,
        clock: Callable[[], float],
        proposer: Proposer | None = None,
        reuse: ReuseNotes | None = None,
        phrases: Phrases | None = None,
        model_drafts: ModelDrafts | None = None,
    ) -> None:
        self.reuse = reuse
        self.limits = limits
        self.blocks = blocks
        self.connector = connector
        self.step_time = StepTime(queue, limits.itl_target)
        self._clock = clock
        self._num_steps = 0
        self._batches = Batches(limits.num_stages)
        self._queue = queue
        self._phrases = phrases
        self._states = RequestStates(queue, blocks, connector, reuse, phrases)
        self._room = BlockAllocation(self._states, blocks, connector, num_places=limits.max_num_seqs)
        self._admission = Admission(self._states, blocks, connector, self._room)
        self._admission_order = AdmissionOrder(
            self._states, blocks, connector, self._admission, self._room, num_places=limits.max_num_seqs
        )
        self._standing: list[Request] = []
        self._expired: list[Request] = []
        self._last_step_tokens = 0
        self._speculation: Speculation | None = None
        if proposer is not None:
            most_rows = limits.max_num_batched_tokens
            self._speculation = Speculation(proposer, blocks, most_rows=most_rows, model=model_drafts)
        self._results = StepResults(self._states, blocks, connector, self._speculation)

    # Arrival and end of requests

    def add_request(self, request: Request) -> None:
        """Queue a new request. Raise OverloadedError if its tenant may not add to the queue now."""
        if not self._queue.accepts(request.tenant, self._states.prefix_waiters.by_tenant()):
            raise OverloadedError(
                f"{len(self._queue)} requests are already waiting. Try again in a moment.",
                retry_after=self.retry_after(),
            )
        self.readmit(request)

    def readmit(self, request: Request) -> None:
        """Queue a request that this scheduler's predecessor accepted."""
        self._states.add(request)
        self.step_time.on_arrival(request, self._clock())
        if not request.is_fork:
            self.connector.on_arrival(request)

    def drop_from_worker(self, request_ids: Iterable[str]) -> None:
        """Have the worker drop, in the next step, requests that it knows from this scheduler's predecessor."""
        self._states.drop_from_worker(request_ids)

    def finish_request(self, request_id: str, reason: FinishReason) -> Request | None:
        """Finish a request in any state and free its blocks for the next step. Return None if it is unknown."""
        return self._states.finish(request_id, reason)

    def get(self, request_id: str) -> Request | None:
        """Return the request; None if it is unknown or has finished."""
        return self._states.get(request_id)

    def ids_of_tenant(self, tenant: str) -> list[str]:
        """List the ids of the tenant's unfinished requests."""
        return [request.request_id for request in self._states if request.tenant == tenant]

    def erase(self, keys: Sequence[BlockKey]) -> None:
        """Erase the blocks of `keys` from every tier, and what the log and the phrases know of them.

        No later request can find them. Requests that are using the blocks continue.
        """
        self.blocks.pool.erase(keys)
        self._states.prefixes.erase(keys)
        self.connector.erase(keys)
        if self._phrases is not None:
            self._phrases.erase(keys)

    def recall(self, tenant: str, answers: Sequence[KnownAnswer]) -> None:
        """Have drafts guess what a tenant's answers in an earlier process repeat, too."""
        if self._phrases is not None:
            self._phrases.recall(tenant, answers)

    def retry_after(self) -> int:
        """Return after how many seconds a refused client should retry."""
        return retry_after(len(self._queue), self._admission_order.seconds_each)

    def take_expired(self) -> list[Request]:
        """Return the requests that a passed deadline has finished since the last call."""
        self._expire(self._clock())
        expired, self._expired = self._expired, []
        return expired

    def seconds_to_deadline(self) -> float | None:
        """Return the seconds until `take_expired` has a request to return; None if no request has a deadline."""
        if self._expired:
            return 0.0
        next_at = self._states.deadlines.next_at
        return max(0.0, next_at - self._clock()) if next_at is not None else None

    def _expire(self, now: float) -> None:
        while (due := self._states.deadlines.due(now)) is not None:
            request, reason = due
            self._states.finish(request.request_id, reason)
            self._expired.append(request)

    def unfinished(self) -> Iterator[Request]:
        """Iterate over the unfinished requests, in order of arrival."""
        return iter(self._states)

    @property
    def turn_seconds(self) -> float:
        """Mean seconds between two turns while requests wait; 0.0 until a request has had to wait."""
        return self._admission_order.seconds_each or 0.0

    @property
    def num_running(self) -> int:
        """Number of requests in the batch."""
        return len(self._states.running)

    @property
    def num_waiting(self) -> int:
        """Number of requests in the queue."""
        return len(self._queue)

    @property
    def num_loading(self) -> int:
        """Number of requests whose prefix is being loaded."""
        return self._states.num_loading

    @property
    def num_waiting_for_prefix(self) -> int:
        """Number of requests that wait while another request computes their common prefix."""
        return len(self._states.prefix_waiters)

    @property
    def num_preemptions(self) -> int:
        """Number of preemptions since the start."""
        return self._states.num_preemptions

    @property
    def num_reclaims(self) -> int:
        """Number of times that a waiting request lost its restored blocks, since the start."""
        return self._states.num_reclaims

    @property
    def num_preempted(self) -> int:
        """Number of preempted requests in the queue. Takes time linear in the number of requests."""
        return sum(request.status is RequestStatus.PREEMPTED for request in self._states)

    @property
    def drafted(self) -> Counter[DraftSource]:
        """Draft tokens computed since the start, by the source of their draft."""
        return self._speculation.drafted if self._speculation is not None else Counter()

    @property
    def accepted(self) -> Counter[DraftSource]:
        """Draft tokens accepted since the start, by the source of their draft."""
        return self._speculation.accepted if self._speculation is not None else Counter()

    @property
    def num_prefilled(self) -> int:
        """Number of prompt tokens computed by completed steps, counting tokens recomputed after a preemption again."""
        return self._results.num_prefilled

    def has_unfinished_requests(self) -> bool:
        """Return whether any request is unfinished."""
        return len(self._states) > 0

    # One step

    def schedule(self, *, ahead: bool = True) -> SchedulerOutput | None:
        """Return the next step; None if there is nothing to do now.

        ahead: whether the step begins when the oldest step in flight has ended, and so counts on its tokens. Otherwise
            it begins at once, on a stage that has nothing to do.
        """
        self._batches.open(ahead=ahead)
        if not ahead and self._batches.num_in_flight and not self._has_more():
            return None
        now = self._clock()
        self._expire(now)
        stores = self._stores()
        self._turn_to_tiers(now)
        self._collect_loads(now)
        self._states.release_prefix_waiters()
        self._admission_order.start_below_share(now, self._standing)
        step_seconds = self.step_time.shared_seconds(self._states.running, now)
        prompts = [request for request in self._states.running if not _is_decode(request)]
        decodes = self._decodes(prompts, step_seconds)
        most_rows = self.limits.max_num_batched_tokens
        prompt_rows = self.step_time.prompt_tokens(len(decodes), step_seconds, most_rows, prompts)
        plan = self._plan_drafts(prompt_rows if prompts else None)
        budget = self._budget(prompt_rows, plan)
        passes = 1 if plan.num_rows or plan.is_near else self._passes()
        draft = StepDraft(now=now, budget=budget, passes=passes, step_id=self._num_steps, is_awaited=plan.is_awaited)
        if self._schedule_decodes(draft, decodes, plan):
            self._admission_order.start_waiting(now)
        self._schedule_prompts(draft, step_seconds)
        if not self.has_unfinished_requests():
            self.connector.promote_hints()
        loads = self.connector.take_loads(self._load_seconds())
        self._last_step_tokens = draft.passes * sum(draft.counts.values())
        # While copies are late, return even an empty step: it waits for their results, which nothing else would bring.
        late = self.connector.has_late_copies and not (self.limits.num_stages > 1 and self._batches.num_in_flight)
        if not (draft.counts or loads or stores or self._states.has_dropped or late):
            return None
        dropped, copies = self._states.take_dropped(), self._admission.take_copies()
        new, cached = tuple(draft.new), tuple(draft.cached)
        self._batches.begin(draft.step_id)
        self._num_steps += 1
        return SchedulerOutput(
            step_id=draft.step_id,
            new_requests=new,
            cached_requests=cached,
            num_scheduled_tokens=draft.counts,
            dropped_request_ids=dropped,
            copies=copies,
            loads=loads,
            stores=stores,
            passes=draft.passes,
            masks=draft.masks,
            is_awaited=draft.is_awaited,
            drafts=draft.drafts,
            to_draft=draft.to_draft,
        )

    def _has_more(self) -> bool:
        """Return whether a step behind those in flight may have tokens to compute."""
        return len(self._queue) > 0 or any(map(self._num_computable, self._states.running))

    def _stores(self) -> tuple[TransferJob, ...]:
        running, others_wait = self._states.running, len(self._queue) > 0
        prompts = any(not request.output_token_ids for request in running)
        return self.connector.take_stores(
            self._last_step_tokens,
            at_rest=not running,
            others_wait=others_wait,
            prompts=prompts,
            urgent=self._admission_order.take_held_back(),
        )

    def _load_seconds(self) -> float:
        """Return how many seconds the loads of a step may take: half as many if running requests wait for the step."""
        target = self.limits.itl_target or AUTO_STEP_SECONDS
        return target / 2 if self._states.running else target

    def _turn_to_tiers(self, now: float) -> None:
        for request in self.connector.take_answered():
            self._states.suspend(request, now)

    def _plan_drafts(self, prompt_rows: int | None) -> DraftPlan:
        if self._speculation is None:
            return DraftPlan()
        running = [request for request in self._states.running if self._batches.is_free(request)]
        plain, is_idle = self._plain_step(len(running)), not self._batches.num_in_flight
        return self._speculation.plan(running, plain, prompt_rows, is_idle=is_idle)

    def _plain_step(self, decodes: int) -> PlainStep | None:
        """Return what a step of `decodes` decodes costs without drafts; None if that is not known yet."""
        cost = self.step_time.cost
        seconds = cost.decode_seconds(decodes)
        return PlainStep(seconds, cost.token_seconds) if seconds else None

    def _passes(self) -> int:
        running = self._states.running
        # A request that could join this step has prompt to compute, which takes a single pass.
        if not running or len(self._queue) or self._states.num_loading or len(self._states.prefix_waiters):
            return 1
        longest = self.limits.itl_target or LONGEST_STEP_SECONDS
        most = passes_within(self.limits.decode_passes, self.step_time.cost.decode_seconds(len(running)), longest)
        return passes_of_step(most, running, self.blocks) if most > 1 else 1

    def _decodes(self, prompts: Sequence[Request], step_seconds: float | None) -> Sequence[Request]:
        """Return the running requests that decode in this step alongside `prompts`."""
        decodes = list(filter(_is_decode, self._states.running))
        in_flight = [request for request in decodes if not self._batches.is_free(request)]
        computable = [request for request in decodes if self._num_computable(request)]
        most = self._batches.share(len(decodes))
        return self.step_time.choose_decodes(computable, prompts, step_seconds, most, in_flight)

    def _budget(self, prompt_rows: int, plan: DraftPlan) -> SchedulingBudget:
        """Return the budget of a step with time for `prompt_rows` prompt tokens, less the time that the drafts take."""
        # A draft token costs about as much time as a prompt token.
        left = prompt_rows - plan.num_rows
        limits = self.limits
        return SchedulingBudget(
            limits.max_num_batched_tokens, limits.max_num_seqs, max(left, min(prompt_rows, SMALLEST_CHUNK))
        )

    def _schedule_decodes(self, draft: StepDraft, decodes: Sequence[Request], plan: DraftPlan) -> bool:
        """Schedule a token of each of `decodes`, with its draft. Return whether all found room without a preemption."""
        preempted_before = self.num_preemptions
        self._standing = []
        for request in decodes:
            if draft.budget.exhausted:
                break
            # An earlier decode of this step may have preempted the request.
            if request.status is RequestStatus.RUNNING:
                speculated = plan.drafts.get(request.request_id, ())
                self._schedule(request, 1, draft, speculated, plan.to_draft.get(request.request_id, 0))
        return not self._standing and self.num_preemptions == preempted_before

    def _schedule_prompts(self, draft: StepDraft, step_seconds: float | None) -> None:
        """Divide the rest of the step among the prompts in the batch."""
        prompts = [request for request in self._states.running if not _is_decode(request)]
        computable = [(request, most) for request in prompts if (most := self._num_computable(request))]
        num_reported = sum(reports_prompt(request) for request, _ in computable)
        fewest = self._states.prefix_waiters.fewest_left()
        claims = [
            (request, self._claim(request, min(most, longest_chunk(request, num_reported)), fewest))
            for request, most in computable
        ]
        room = min(draft.budget.tokens, draft.budget.prompt_tokens)
        waiting = [claim for _, claim in claims if claim.tokens > 0]
        chunks = self.step_time.divide_prompts(waiting, room, len(draft.counts), step_seconds)
        for request, claim in claims:
            count = chunks.get(claim.request_id, 0)
            # An earlier prompt of this step may have preempted the request.
            if count and not draft.budget.exhausted and request.status is RequestStatus.RUNNING:
                self._schedule(request, count, draft)

    def _claim(self, request: Request, most: int, fewest_behind: Mapping[str, int]) -> Claim:
        tokens = self._until_answer(request, most)
        left = min(request.num_pending_tokens, fewest_behind.get(request.request_id, request.num_pending_tokens))
        tenant = self._queue.tenant_of(request)
        context, urgency = request.num_computed_tokens, self._queue.urgency(request)
        return Claim(
            request_id=request.request_id,
            tenant=tenant,
            tokens=tokens,
            context=context,
            left=left,
            urgency=urgency,
            order=request.order,
            has_begun=request.has_begun,
        )

    def _num_computable(self, request: Request) -> int:
        """Return how many tokens of `request` could be computed now."""
        if request.status is not RequestStatus.RUNNING or request.will_reach_most_tokens:
            return 0
        if not self._batches.is_free(request):
            return 0
        if request.may_be_sampled:
            return request.num_pending_tokens
        # Only the last token of a prompt waits for the grammar mask, and no other request waits with it.
        waits_for_mask = not (request.num_drafted or request.samples_in_flight)
        return request.num_pending_tokens - 1 if waits_for_mask else 0

    def _schedule(
        self,
        request: Request,
        count: int,
        draft: StepDraft,
        speculated: tuple[int, ...] = (),
        num_to_draft: int = 0,
    ) -> None:
        """Schedule `count` tokens and the draft of a running request, or note that it lacks blocks.

        The draft is `speculated`, or `num_to_draft` tokens by the draft model.
        """
        num_blocks, more = len(request.blocks), len(speculated) + num_to_draft + draft.passes - 1
        if not self._room.grow(request, request.num_computed_tokens + count + more, draft):
            self._standing.append(request)
        elif request.known_to_worker:
            draft.add_cached(request, count, num_blocks, speculated, num_to_draft)
            self._queue.charge(request, count + draft.passes - 1)
        else:
            draft.add_new(request, count)
            self._queue.charge(request, count)

    def _until_answer(self, request: Request, count: int) -> int:
        """Limit `count` so that no long chunk is in flight when a lower tier answers that it has the prompt."""
        most = self.connector.tokens_until_answer(request)
        return count if most is None else min(count, most)

    def _collect_loads(self, now: float) -> None:
        for request in self.connector.poll():
            self._states.end_load(request, now)

    # Results

    def update(self, output: SchedulerOutput, result: ModelRunnerOutput) -> list[TokenUpdate]:
        """Process the result of one step and return the changes. Call in the order in which steps were scheduled."""
        self._batches.end()
        self.blocks.end_copies(output.copies)
        self.connector.complete(output, result.transfers)
        if output.total_tokens:
            self.connector.on_computed(output, result.seconds / output.passes)
        self.step_time.cost.note(output, result.seconds / output.passes)
        if self._speculation is not None and output.total_tokens:
            self._speculation.on_computed(output, result, self._plain_step(len(output.num_scheduled_tokens)))
        return self._results.take(output, result)

    def lose_step(self, output: SchedulerOutput) -> None:
        """Give up on a step whose result will never come. The data it wrote is lost, and its copies count as failed."""
        self._batches.end()
        self.connector.lose_step(output)
        self.blocks.end_copies(output.copies)
        for request_id in output.num_scheduled_tokens:
            request = self._states.get(request_id)
            if request is not None:
                request.steps_in_flight -= 1
                if request_id in output.drafts or request_id in output.to_draft:
                    request.num_drafted = 0
                if not request.steps_in_flight:
                    request.samples_in_flight = 0

    def lose_device(self) -> None:
        """Preempt all requests after the contents of the device's blocks were lost.

        The new workers know no request. Every request waits for another turn, and restores what the tiers below have.
        """
        self.connector.lose_device()
        self._states.lose_device(self._clock())
        self.blocks.pool.forget_all()

    def fail_step(self, output: SchedulerOutput) -> list[Request]:
        """Finish the requests of a step that raised, with reason "error", and return them.

        A copy within the device may be for a request without tokens in the step. Such a request waits for another turn,
        and the steps in flight behind this one, which read a block that was never filled, give it nothing.
        """
        self._batches.end()
        self.connector.fail_step(output)
        self.blocks.end_copies(output.copies)
        failed = [r for request_id in output.num_scheduled_tokens if (r := self._states.get(request_id)) is not None]
        for request in failed:
            # The contents of its last blocks are unknown, so none of them may be published.
            request.unconfirm()
            self.finish_request(request.request_id, "error")
        misled = self._states.holders_of({copy.target_id for copy in output.copies})
        for request in misled:
            request.ignore_steps(self._num_steps)
        self._states.take_back(misled, self._clock())
        return failed

    def leak_check(self) -> LeakCheck:
        """Raise AssertionError if blocks leak: free + used == total, and every used block has a request or a copy."""
        yield from self.blocks.pool.leak_check()
        yield from self.connector.leak_check()
        held = {block.block_id for request in self._states for block in request.blocks}
        idle = self.blocks.num_copied == 0 and self.connector.is_quiet
        if idle:
            assert len(held) == self.blocks.pool.num_used, "a used block belongs to no request"


def _is_decode(request: Request) -> bool:
    """Return whether only the next token of `request` can be computed."""
    return request.num_pending_tokens == 1 and request.known_to_worker
