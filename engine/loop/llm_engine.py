"""The engine without an event loop: requests in, RequestOutputs out, one `step` at a time."""

import itertools
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from cache_tiers.histogram import Histogram
from cache_tiers.leak_check import LeakCheck
from cache_tiers.moves.manager import TierManager
from cache_tiers.owners.owners import Owners
from cache_tiers.registry import all_tiers
from cache_tiers.tier import TierId
from engine.api.errors import FOR_THE_PROCESS, OverloadedError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import FinishReason, RequestOutput
from engine.grammar.grammars import Grammars
from engine.intake.processor import Processor
from engine.loop.core import EngineCore, InFlight, SchedulerInDoubtError, StepFailedError
from engine.loop.promised_ends import PromisedEnds
from engine.loop.stats import BlockStats, EngineStats, RequestStats, StepStats, TierStats, TokenStats, tenant_bytes
from engine.offload.reuse_notes import ReuseStats
from engine.request.request import Request
from engine.scheduling.prompt_progress import ProgressReports
from engine.scheduling.results import TokenUpdate
from engine.scheduling.scheduler import Scheduler
from engine.speculation.guess import DRAFT_SOURCES
from engine.text.output_processor import OutputProcessor
from engine.tracing import Track

PROMPT_TOKENS = 1024
"""Length of a usual prompt, by which the time of computing a token is stated."""

QUEUE_TIMED_OUT = "the request timed out in the queue: the server is overloaded. Retry later."
STEP_FAILED = "the model failed on this request; see the server's log"
REQUEST_FAILED = "the server failed on this request; see its log"

logger = logging.getLogger(__name__)


class LLMEngine:
    """Processor, core and output processor, connected. All calls come from one thread."""

    def __init__(self, processor: Processor, core: EngineCore, outputs: OutputProcessor, grammars: Grammars) -> None:
        self.processor = processor
        self.grammars = grammars
        self.core = core
        self._outputs = outputs
        self._reports = ProgressReports(outputs.get, outputs.clock)
        self._promised_ends = PromisedEnds(core, clock=outputs.clock)
        self._ids = itertools.count()
        self._finished: Counter[str] = Counter()
        self._reuse_ends: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._embeddings = 0
        self._reused: Counter[TierId] = Counter()
        self._asked: Counter[TierId] = Counter()
        self._ttft = Histogram.of_seconds()
        self._queue: defaultdict[str, Histogram] = defaultdict(Histogram.of_seconds)
        self._inter_token = Histogram.of_seconds()
        self._checks = {"clean": 0, "failed": 0}
        self._num_rebuilds = 0
        self._counted_before: Counter[str] = Counter()

    def add_request(self, request: GenerateRequest) -> Request:
        """Check a request and queue it. Raise InvalidRequestError or OverloadedError.

        If `produced` already completes the answer, `end_if_complete` ends the request.
        """
        queued = self.processor.process(f"{request.request_id or 'req'}-{next(self._ids)}", request)
        self._queue_request(queued)
        if request.progress_every is not None:
            self._reports.follow(queued, request.progress_every)
        return queued

    def add_fork(self, first_id: str, choice: int) -> Request:
        """Queue one more answer to the prompt of a request that has just been added. Raise OverloadedError."""
        first = self._outputs.get(first_id)
        assert first is not None, "a request that has ended cannot be forked"
        request = self.processor.fork(first, f"{first_id}-{choice}", choice)
        try:
            self._queue_request(request)
        except OverloadedError:
            request.siblings.remove(request)
            raise
        return request

    def _queue_request(self, request: Request) -> None:
        # Register the request here before the scheduler has it, so that a new scheduler gets it if this one fails.
        self._outputs.add_request(request)
        try:
            self.core.add_request(request)
        except OverloadedError:
            self._outputs.forget(request)
            raise
        except SchedulerInDoubtError:
            return

    def ids_of_tenant(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""
        return [request.request_id for request, _ in self._outputs.unfinished() if request.tenant == tenant]

    def adapters_in_use(self) -> set[str]:
        """Return the digests of the adapters that compute requests which have not ended."""
        return {request.adapter.digest for request, _ in self._outputs.unfinished() if request.adapter is not None}

    def text_before(self, request: Request) -> str:
        """Return the final text of the tokens that the request was added with."""
        return self._outputs.text_before(request)

    def reasoning_before(self, request: Request) -> str:
        """Return the reasoning of the tokens that the request was added with."""
        return self._outputs.reasoning_before(request)

    def end_if_complete(self, request: Request) -> RequestOutput | None:
        """Return the last output of a request whose answer was complete when it was added; None if it continues."""
        output = self._outputs.end_if_complete(request)
        if output is not None:
            self._end_in_scheduler(request, output.finish_reason or "stop")
        return self._count(output)

    def abort_request(self, request_id: str) -> RequestOutput | None:
        """End a request now, whatever its state. Return its last output; None if it had already ended."""
        request = self._outputs.get(request_id)
        if request is None:
            return None
        self._end_in_scheduler(request, "abort")
        return self._finish(request, "abort")

    def _finish(self, request: Request, reason: FinishReason, error: str | None = None) -> RequestOutput | None:
        """Make the last output of a request that ended outside of a step; None if it had already ended."""
        if self._outputs.get(request.request_id) is None:
            return None
        try:
            return self._count(self._outputs.finish(request, reason, error))
        except FOR_THE_PROCESS:
            raise
        except BaseException:
            logger.exception("%s: the end of the answer could not be processed", request.request_id)
            return self._fail(request)

    def _fail(self, request: Request) -> RequestOutput:
        self._finished["error"] += 1
        return self._outputs.fail(request, REQUEST_FAILED)

    def _end_in_scheduler(self, request: Request, reason: FinishReason) -> None:
        """End a request in the scheduler. A scheduler in doubt is left alone: its successor never gets the request."""
        try:
            self.core.finish_request(request.request_id, reason)
        except SchedulerInDoubtError:
            return

    def abort_requests_of(self, tenant: str) -> list[RequestOutput]:
        """End all requests of a tenant now. Return their last outputs."""
        aborted = [self.abort_request(request_id) for request_id in self.ids_of_tenant(tenant)]
        return [output for output in aborted if output is not None]

    def expire_requests(self) -> list[RequestOutput]:
        """Return the last outputs of requests whose deadline has passed since the last call."""
        outputs = []
        for request in self.core.ask(Scheduler.take_expired, otherwise=()):
            reason = request.finish_reason
            assert reason is not None
            output = self._finish(request, reason)
            if output is not None and reason == "queue_timeout":
                output = replace(output, error=QUEUE_TIMED_OUT, retry_after=self.core.ask(Scheduler.retry_after, 1))
            if output is not None:
                outputs.append(output)
        return outputs

    def has_unfinished_requests(self) -> bool:
        """Return True if any request has not ended."""
        return self._outputs.has_unfinished or self.is_promising

    @property
    def is_promising(self) -> bool:
        """Whether the end of an answer waits until its KV is promised."""
        return bool(self._promised_ends.held)

    def take_promised(self) -> list[RequestOutput]:
        """Return the last outputs of answers whose KV is promised by now, or which have waited long enough."""
        return [ended for output in self._promised_ends.take() if (ended := self._count(output)) is not None]

    def step(self) -> list[RequestOutput]:
        """Run one step and block until it ends. If there is nothing to compute yet, give the tiers a moment."""
        self.core.fill()
        if not self.core.in_flight:
            # Sleep rather than spin: the threads that load blocks need the GIL too.
            time.sleep(self.core.next_poll_seconds() or 0.0)
            return [*self.take_promised(), *self.expire_requests()]
        oldest = self.core.in_flight[0]
        oldest.future.exception()
        return [*self.finish_step(oldest), *self.take_promised(), *self.expire_requests()]

    def finish_step(self, step: InFlight, *, fills: bool = False) -> list[RequestOutput]:
        """Return the outputs of a step that has ended. A failed step ends its requests with "error".

        fills: whether to start further steps before making texts, for which the model would wait.
        """
        try:
            updates = self.core.finish_step(step)
        except StepFailedError as failure:
            return [
                news
                for request in failure.requests
                if (news := self._finish(request, "error", STEP_FAILED)) is not None
            ]
        if fills:
            # The next fill raises it again, once these outputs have been delivered.
            with suppress(SchedulerInDoubtError):
                self.core.fill()
        with self.core.trace.span(Track.OUTPUT, "outputs"):
            reports = self.progress()
            return reports + [output for update in updates if (output := self._process(update)) is not None]

    def progress(self) -> list[RequestOutput]:
        """Return the reports of the progress of prompts that are due, for the requests that asked for them."""
        if not self._reports:
            return []
        return self._reports.take(self.core.ask(lambda scheduler: scheduler.step_time.cost, otherwise=None))

    def _process(self, update: TokenUpdate) -> RequestOutput | None:
        request = update.request
        try:
            output, stopped = self._outputs.process(update)
        except FOR_THE_PROCESS:
            raise
        except BaseException:
            logger.exception("%s: a token could not be processed; the request ends with an error", request.request_id)
            self._end_in_scheduler(request, "error")
            return self._fail(request)
        if stopped:
            self._end_in_scheduler(request, "stop")
        if output is not None and output.finished and request.promise is not None:
            output = self._promised_ends.hold(request, output)
        return self._count(output)

    def rebuild(self) -> list[RequestOutput]:
        """Replace a scheduler in doubt with a new one that has every unfinished request.

        Each request is recomputed from its prompt and the tokens that were delivered. Every step in flight must have
        ended; see `EngineCore.rebuild`.

        Return the last outputs of requests that cannot be continued. Raise the exceptions of `EngineCore.rebuild`.
        """
        renewed, failed = list[Request](), list[Request]()
        siblings: defaultdict[int, list[Request]] = defaultdict(list)
        for request, num_delivered in self._outputs.unfinished():
            try:
                fresh = self.processor.renew(request, num_delivered)
            except FOR_THE_PROCESS:
                raise
            except BaseException:
                logger.exception("%s cannot be continued; it ends with an error", request.request_id)
                failed.append(request)
                continue
            if request.siblings:
                fresh.siblings = siblings[id(request.siblings)]
                fresh.siblings.append(fresh)
            renewed.append(fresh)
        counted = self._counted_by_scheduler()
        self.core.rebuild(renewed)
        self._counted_before = counted
        self._num_rebuilds += 1
        for request in renewed:
            self._outputs.renew(request)
        return [self._fail(request) for request in failed]

    def _counted_by_scheduler(self) -> Counter[str]:
        """Return the totals of this scheduler and its predecessors. The next scheduler starts counting at 0."""
        scheduler = self.core.scheduler
        return self._counted_before + Counter(
            preemptions=scheduler.num_preemptions,
            reclaims=scheduler.num_reclaims,
            prefilled=scheduler.num_prefilled,
            evicted=scheduler.blocks.pool.num_evicted,
            lost=scheduler.blocks.pool.num_lost,
            warmed=scheduler.connector.num_prefetched,
            **{f"drafted {source}": count for source, count in scheduler.drafted.items()},
            **{f"accepted {source}": count for source, count in scheduler.accepted.items()},
        )

    def _count(self, output: RequestOutput | None) -> RequestOutput | None:
        if output is None:
            return None
        self._tokens["generation"] += len(output.token_ids)
        if output.finish_reason is not None and output.usage is not None:
            usage, kv = output.usage, output.usage.kv
            self._finished[output.finish_reason] += 1
            if usage.reuse is not None and usage.reuse.end is not None:
                self._reuse_ends[usage.reuse.end.cause] += 1
            self._tokens["computed"] += kv.computed
            self._reused += kv.reused
            missing = kv.tokens
            for tier in all_tiers():
                self._asked[tier.id] += missing
                missing -= kv.reused[tier.id]
            made = usage.completion_tokens - usage.resumed_tokens
            is_embedded = output.embedding is not None
            self._embeddings += is_embedded
            self._queue["served" if made or is_embedded else output.finish_reason].observe(usage.queue_ms / 1e3)
            if made:
                self._ttft.observe(usage.ttft_ms / 1e3)
            if made > 1:
                self._inter_token.observe((usage.total_ms - usage.ttft_ms) / 1e3 / (made - 1))
        return output

    def stats(self) -> EngineStats:
        """Return a snapshot of the statistics. The call is cheap."""
        scheduler, pool = self.core.scheduler, self.core.scheduler.blocks.pool
        tiers = scheduler.connector.tiers
        block_nbytes = scheduler.blocks.block_nbytes
        counted = self._counted_by_scheduler()
        return EngineStats(
            requests=RequestStats(
                running=scheduler.num_running,
                waiting=scheduler.num_waiting,
                loading=scheduler.num_loading,
                following=scheduler.num_waiting_for_prefix,
                preempted=scheduler.num_preempted,
                finished=dict(self._finished),
                preemptions=counted["preemptions"],
                reclaims=counted["reclaims"],
                embeddings=self._embeddings,
                ttft_seconds=self._ttft,
                queue_seconds=dict(self._queue),
                inter_token_seconds=self._inter_token,
            ),
            tokens=TokenStats(
                asked=self._asked.copy(),
                reused=self._reused.copy(),
                computed=self._tokens["computed"],
                prefilled=counted["prefilled"],
                generated=self._tokens["generation"],
                drafted=Counter({source: counted[f"drafted {source}"] for source in DRAFT_SOURCES}),
                accepted=Counter({source: counted[f"accepted {source}"] for source in DRAFT_SOURCES}),
            ),
            steps=StepStats(
                seconds=self.core.step_seconds,
                gap_seconds=self.core.gap_seconds,
                batch_sizes=self.core.batch_sizes,
                rebuilds=self._num_rebuilds,
            ),
            blocks=BlockStats(
                nbytes=block_nbytes,
                total=pool.num_blocks,
                used=pool.num_used,
                cached=pool.num_cached,
                unstored=tiers.stores.num_outside if tiers is not None else 0,
                evicted=counted["evicted"],
                lost=counted["lost"],
                tenants=tenant_bytes(pool.held, pool.owners, block_nbytes),
                checks=dict(self._checks),
            ),
            tiers=_of_tiers(tiers, pool.owners, block_nbytes, warmed=counted["warmed"], reuse_ends=self._reuse_ends),
            reuse=_of_reuse(scheduler),
            workers=self.core.executor.state,
        )

    def leak_check(self) -> LeakCheck:
        """Raise AssertionError if the pool or the tiers leak. Count the result, unless the check is dropped."""
        try:
            yield from self.core.scheduler.leak_check()
        except AssertionError:
            self._checks["failed"] += 1
            raise
        self._checks["clean"] += 1


def _of_reuse(scheduler: Scheduler) -> ReuseStats:
    if scheduler.reuse is None:
        return ReuseStats()
    return scheduler.reuse.stats((scheduler.connector.compute_seconds(PROMPT_TOKENS) or 0.0) / PROMPT_TOKENS)


def _of_tiers(
    tiers: TierManager | None, owners: Owners, block_nbytes: int, *, warmed: int, reuse_ends: Mapping[str, int]
) -> TierStats:
    if tiers is None:
        return TierStats(warmed=warmed, reuse_ends=dict(reuse_ends))
    store = tiers.store.stats()
    return TierStats(
        store=store,
        stores_refused=tiers.stores.is_refused,
        copied_up=tiers.loads.num_copied,
        copied_down=tiers.stores.num_copied,
        warmed=warmed,
        load_seconds=tiers.loads.seconds,
        cpu_store_seconds=tiers.stores.seconds,
        reuse_ends=dict(reuse_ends),
        cpu_tenants=tenant_bytes(store.cpu.held_blocks, owners, block_nbytes),
    )
