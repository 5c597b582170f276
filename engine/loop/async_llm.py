"""The engine on an asyncio loop, which serves sockets while the model thread computes a step."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any, TypeVar

from cache_tiers.moves.promises import ASK_AGAIN_SECONDS
from cache_tiers.owners.block_key import BlockKey
from cache_tiers.tier import TierId
from engine.api.errors import FOR_THE_PROCESS, EngineError, NotFoundError, NotReadyError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.request_stream import RequestStream
from engine.api.stored_tokens import Trail
from engine.config import EngineConfig
from engine.executor.workers import WorkersLostError
from engine.loop.core import InFlight, SchedulerInDoubtError, StepBehindFailureError
from engine.loop.llm_engine import LLMEngine
from engine.loop.stats import EngineStats, StatsLog
from engine.loop.stored_prefixes import StoredPrefixes
from engine.process.restart_budget import RestartBudget
from engine.request.request import Request
from engine.request.scheduler_output import ModelRunnerOutput
from engine.scheduling.scheduler import Scheduler
from models.adapters.adapter import Adapter
from models.chat.format import ChatFormat
from models.retrieval.folder import Retrieval
from models.tokenizers.text_tokenizer import TextTokenizer

CHECK_EVERY_SECONDS = 30.0
STALLED_POLL_SECONDS = 0.01
LOG_EVERY_SECONDS = 10.0
ABORT_SECONDS = 5.0
"""Longest wait of a stop for the step that computes aborted requests, after the time for draining."""
FLUSH_SECONDS = 2.0
MAX_REBUILDS = 5
"""Maximum number of new schedulers within `REBUILD_SECONDS`. A more frequent defect is left to a new process."""
REBUILD_SECONDS = 600.0
LOOP_BROKE = "The engine failed and the server is restarting. Try again in a few seconds."
LONG_PROMPT = 8192
"""Prompt length in tokens from which checking and hashing the prompt takes more than a millisecond."""

T = TypeVar("T")
U = TypeVar("U")

logger = logging.getLogger(__name__)


class AsyncLLMEngine:
    """Owner of the loop task. Every method belongs to the thread of the event loop that called `start`.

    tier_notes: for each lower tier, the reason why it is off, in a sentence; empty while it is on.
    sampling_defaults: sampling parameters recommended by the model's authors, for callers that make SamplingParams.
    retrieval: uses of the model's vectors.
    keys: keys of the blocks of prompts.
    prefixes: tier lookups and prefetches for prompts that have not been submitted.
    gave_up: set once the engine has failed permanently. By then every stream has ended with "abort", as during a stop,
        so that runs can be handed over. The process should call `stop` and exit with a non-zero status.
    why_gave_up: the reason, in a sentence; empty until then.
    """

    def __init__(
        self,
        engine: LLMEngine,
        *,
        config: EngineConfig,
        tokenizer: TextTokenizer,
        chat_format: ChatFormat,
        sampling_defaults: Mapping[str, float],
        retrieval: Retrieval,
        tier_notes: Mapping[TierId, str],
        flush: Callable[[float], bool],
        on_close: Callable[[], None],
    ) -> None:
        """Prepare the engine.

        flush: waits at most the given seconds, on another thread, until the lower tiers have all blocks and erased what
            had to be. Returns whether they have.
        on_close: called on another thread once the tiers are flushed.
        """
        self.config = config
        self.tokenizer = tokenizer
        self.chat_format = chat_format
        self.sampling_defaults = sampling_defaults
        self.retrieval = retrieval
        self.tier_notes = tier_notes
        self.model_name = config.model.name
        self.model_fingerprint = engine.processor.model_fingerprint
        self.kv_fingerprint = engine.processor.kv_fingerprint
        self.keys = engine.processor.keys
        self.adapters: Mapping[str, Adapter] = engine.processor.adapters
        self.max_model_len = engine.processor.limits.usable_window
        self.model_window = engine.processor.limits.window
        self._engine = engine
        self._flush = flush
        self._on_close = on_close
        self._streams: dict[str, RequestStream] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._stopping = False
        self._closed = False
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""
        self._checked = time.monotonic()
        self._leak: str | None = None
        self._rebuilds = RestartBudget((0.0,) * MAX_REBUILDS, REBUILD_SECONDS)
        engine.core.on_doubt = self._wake.set
        self.prefixes = StoredPrefixes(
            engine.processor,
            engine.core,
            wake=self._wake.set,
            is_serving=lambda: not (self.is_broken or self._stopping),
        )
        self._log = StatsLog(LOG_EVERY_SECONDS, engine.stats(), time.monotonic())

    async def start(self) -> None:
        """Start the loop task."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        self._engine.core.executor.on_lost = wake
        self._task = asyncio.create_task(self._guarded(), name="engine-loop")

    async def generate(self, request: GenerateRequest) -> list[RequestStream]:
        """Queue a request, and return a stream for each of its answers. All are queued, or none.

        A long prompt is hashed and an answer form compiled on other threads first. Raise InvalidRequestError naming the
        field, OverloadedError or NotReadyError.
        """
        self._check_serving()
        await self._prepare(request)
        self._check_serving()
        # Nothing is awaited from here on, so a caller that is cancelled leaves nothing queued.
        queued = self._engine.add_request(request)
        answers = [queued]
        try:
            for choice in range(1, request.num_answers):
                answers.append(self._engine.add_fork(queued.request_id, choice))  # noqa: PERF401
            streams = [self._stream(answer) for answer in answers]
        except BaseException:
            for answer in answers:
                self.abort(answer.request_id)
            raise
        if (last := self._engine.end_if_complete(queued)) is not None:
            self._deliver(last)
        self._watch_deadlines()
        self._wake.set()
        return streams

    def _check_serving(self) -> None:
        if self.is_broken:
            raise NotReadyError(LOOP_BROKE)
        if self._task is None or self._stopping:
            raise NotReadyError("the engine is stopping" if self._stopping else "the engine has not started")

    async def _prepare(self, request: GenerateRequest) -> None:
        await self._engine.grammars.prepare(request.params, request.tenant)
        if len(request.prompt_token_ids) >= LONG_PROMPT:
            await asyncio.to_thread(self._engine.processor.prepare, request)

    def _stream(self, request: Request) -> RequestStream:
        stream = RequestStream(
            request.request_id,
            request.sampling,
            self.abort,
            self._engine.text_before(request),
            self._engine.reasoning_before(request),
        )
        self._streams[request.request_id] = stream
        return stream

    def abort(self, request_id: str) -> None:
        """End a request with a last output of "abort". Do nothing if the request has already ended."""
        output = self._engine.abort_request(request_id) if not self.is_broken else None
        if output is not None:
            self._deliver(output)
            self._wake.set()

    def tenant_salt(self, tenant: str) -> bytes:
        """Return 32 secret bytes, which change when the tenant is deleted.

        Anything stored under a name derived from the former bytes can then no longer be found.
        """
        return self._engine.processor.salts.salt(tenant)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests that have not ended."""
        return self._engine.ids_of_tenant(tenant)

    async def delete_tenant(self, tenant: str) -> None:
        """Make the tenant's blocks unreachable in every tier, also after a restart, and abort its requests.

        Raise EngineError, without any change, if the deletion cannot be made durable.
        """
        await asyncio.to_thread(self._engine.processor.salts.rotate, tenant)
        self._end_all_of(tenant)

    def adopt_deletions(self, generations: dict[str, int]) -> None:
        """Take over the record of deleted tenants, before the first request. See `TenantSalts`."""
        self._engine.processor.salts.adopt_all(generations)

    def deletions_of(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._engine.processor.salts.generation(tenant)

    def adopt_deletion(self, tenant: str, deletions: int) -> None:
        """Follow a deletion that the owner of the record of deleted tenants has made durable."""
        self._engine.processor.salts.adopt(tenant, deletions)
        self._end_all_of(tenant)

    def _end_all_of(self, tenant: str) -> None:
        for output in self._engine.abort_requests_of(tenant) if not self.is_broken else ():
            self._deliver(output)
        self._wake.set()

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str = "local") -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use."""
        return await asyncio.to_thread(self.keys.of_trails, trails, tenant)

    async def erase(self, keys: Sequence[BlockKey], *, again: bool = False) -> bool:
        """Erase blocks from all tiers, and wait until that is done.

        again: leave the blocks that requests used since the last attempt.

        Blocks that are being copied, loaded or written are erased once that has ended, also while the engine stops.
        Return False if it could not be done, because the engine has ended or a lower tier is away or refuses it.
        """
        if self._has_ended():
            return False
        if again:
            keys = self._engine.core.ask(lambda scheduler: scheduler.connector.to_repeat(keys), otherwise=keys)
        self._engine.core.erase(keys)
        self._wake.set()
        while (erased := self._engine.core.erased(keys)) is None:
            if self._has_ended():
                return False
            await asyncio.sleep(STALLED_POLL_SECONDS)
        return erased

    def _has_ended(self) -> bool:
        return self.is_broken or self._closed

    def _watch_deadlines(self) -> None:
        """Set a timer for the next deadline or promise, independent of what the loop's task is waiting for."""
        if self._deadline is not None:
            self._deadline.cancel()
        delay = self._engine.core.ask(Scheduler.seconds_to_deadline, otherwise=None)
        if self._engine.is_promising:
            delay = min(delay, ASK_AGAIN_SECONDS) if delay is not None else ASK_AGAIN_SECONDS
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(delay, self._expire) if delay is not None else None

    def _expire(self) -> None:
        if self.is_broken:
            return
        for output in (*self._engine.take_promised(), *self._engine.expire_requests()):
            self._deliver(output)
        self._wake.set()
        self._watch_deadlines()

    def stats(self) -> EngineStats:
        """Return a snapshot of the statistics. The call is cheap."""
        return self._engine.stats()

    def ask(self, call: Callable[[Scheduler], T], otherwise: U) -> T | U:
        """Call the scheduler for information. Return `otherwise` while its state is in doubt."""
        return self._engine.core.ask(call, otherwise)

    @property
    def is_resident(self) -> bool:
        """Whether the weights are in memory, as they are for as long as the process lives."""
        return True

    @property
    def is_idle(self) -> bool:
        """Whether no request, copy or load is in progress."""
        return not self._engine.has_unfinished_requests() and self._engine.core.is_quiet

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:
        """Refuse new requests, drain running ones for `drain_seconds`, abort the rest and flush the tiers.

        patience: seconds beyond FLUSH_SECONDS in which the lower tiers may receive the blocks.
        """
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            done, _ = await asyncio.wait([self._task], timeout=drain_seconds)
            if not done:
                for request_id in list(self._streams):
                    self.abort(request_id)
                await asyncio.wait([self._task], timeout=ABORT_SECONDS)
        self._expire()
        if self._deadline is not None:
            self._deadline.cancel()
        await self._flush_tiers(FLUSH_SECONDS + patience)
        self._closed = True
        await asyncio.to_thread(self._on_close)

    async def _flush_tiers(self, seconds: float) -> None:
        """Let the lower tiers receive all blocks, and erase those that were erased while they were being written."""
        ends = time.monotonic() + seconds
        is_flushed = await asyncio.to_thread(self._flush, seconds)
        while not (self.is_broken or self.is_idle) and (left := ends - time.monotonic()) > 0:
            await asyncio.sleep(STALLED_POLL_SECONDS)
            self._engine.core.erase(())
            is_flushed = await asyncio.to_thread(self._flush, left) and is_flushed
        if not is_flushed:
            logger.warning(
                "the lower tiers did not receive every KV block within %g s; some prefixes will be recomputed",
                seconds,
            )

    def drain_replica(self, index: int) -> None:
        """Raise NotFoundError: the engine is in this process."""
        raise NotFoundError(
            f"There is no replica {index}: the engine is in the server's process", code="replica_not_found"
        )

    @property
    def is_broken(self) -> bool:
        """Whether the engine has failed permanently and serves no more requests."""
        return self.gave_up.is_set()

    async def _guarded(self) -> None:
        """Run the loop. A defect in it ends every stream, so that no request hangs."""
        try:
            await self._run()
        except FOR_THE_PROCESS:
            raise
        except EngineError as error:
            self._give_up(str(error))
        except BaseException as error:
            logger.exception("the engine's loop failed; please report this defect")
            self._give_up(f"its loop failed: {type(error).__name__}: {error}")

    def _give_up(self, reason: str) -> None:
        """Stop serving. Streams end as during a stop, so that their runs can continue in the next process."""
        logger.error("the engine has failed: %s", reason)
        self.why_gave_up = reason
        self.gave_up.set()
        for request_id in list(self._streams):
            self._deliver(RequestOutput(request_id=request_id, text="", token_ids=(), finish_reason="abort"))

    async def _run(self) -> None:
        while True:
            try:
                await self._serve()
                return
            except (EngineError, *FOR_THE_PROCESS):
                raise
            except SchedulerInDoubtError:
                pass
            except BaseException as error:
                # The loop may have failed anywhere, so its scheduler is in doubt too.
                self._engine.core.condemn(error)
            await self._rebuild()

    async def _rebuild(self) -> None:
        """Continue with a new scheduler. Raise EngineError if the budget for that is spent."""
        core, budget = self._engine.core, self._rebuilds
        cause = core.doubt
        logger.error(
            "the scheduler failed; please report this defect. A new scheduler takes over its requests", exc_info=cause
        )
        # A step that failed after another one cannot fail repeatedly, since the first one has ended its requests.
        if not isinstance(cause, StepBehindFailureError) and budget.spend(time.monotonic()) is None:
            raise EngineError(
                f"its scheduler failed {budget.most + 1} times within {budget.seconds:g} s, the last time with "
                f"{type(cause).__name__}: {cause}"
            )
        try:
            core.settle_copies()
            for step in core.in_flight:
                await self._ended(step)
            outputs = self._engine.rebuild()
        except (EngineError, *FOR_THE_PROCESS):
            raise
        except BaseException as error:
            core.doubt = error
            return
        for output in outputs:
            self._deliver(output)
        self._watch_deadlines()

    async def _ended(self, step: InFlight) -> None:
        """Wait until the oldest step has ended. Raise EngineError if it hangs."""
        ended = asyncio.wrap_future(step.future)
        ended.add_done_callback(_note_exception)
        while True:
            _, pending = await asyncio.wait([ended], timeout=self._engine.core.seconds_to_step_limit())
            if not pending:
                return
            if self._engine.core.seconds_to_step_limit() == 0.0:
                raise EngineError(self._engine.core.hang_in_words())

    async def _serve(self) -> None:
        core = self._engine.core
        while True:
            core.fill()
            for report in self._engine.progress():
                self._deliver(report)
            if not core.in_flight:
                if self._stopping and self.is_idle:
                    return
                core.restart_if_lost()
                await self._rest()
                continue
            step = core.in_flight[0]
            await self._follow(step)
            failure = step.future.exception()
            if failure is not None and not isinstance(failure, WorkersLostError):
                logger.error("a step failed; its requests end with an error", exc_info=failure)
            for news in self._engine.finish_step(step, fills=True):
                self._deliver(news)
            if self._engine.is_promising:
                self._expire()
            self._log_stats()

    def _log_stats(self) -> None:
        if not self._log.is_due(now := time.monotonic()):
            return
        try:
            logger.info("%s", self._log.line(self._engine.stats(), now))
        except Exception:
            logger.exception("the statistics could not be logged")

    async def _follow(self, step: InFlight) -> None:
        """Wait for `step`, and schedule the next step shortly before it ends, if that time is known.

        The model then does not wait for the scheduler, and the next step includes requests that arrive until then.
        """
        ended = asyncio.wrap_future(step.future)
        ended.add_done_callback(_note_exception)
        delay = self._engine.core.time_to_prepare(step)
        if self._engine.core.has_room:
            await self._fill_until(ended, delay)
        elif delay is not None:
            await asyncio.wait([ended], timeout=delay)
        if delay is not None and not ended.done():
            self._engine.core.begin_step()
        await self._ended(step)

    async def _fill_until(self, ended: asyncio.Future[ModelRunnerOutput], delay: float | None) -> None:
        """Start requests on idle stages as they arrive, until a step has ended or `delay` has passed."""
        core, loop = self._engine.core, asyncio.get_running_loop()
        until = loop.time() + delay if delay is not None else inf
        while core.has_room and not ended.done() and (left := until - loop.time()) > 0:
            self._wake.clear()
            woken = asyncio.ensure_future(self._wake.wait())
            either: list[asyncio.Future[Any]] = [ended, woken]
            timeout = left if left < inf else None
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            core.fill()

    async def _rest(self) -> None:
        """Sleep until a request arrives, or until a tier may have results."""
        self._wake.clear()
        # Blocks that wait for an unavailable tier may wait for days, so they do not count here.
        if not self._engine.has_unfinished_requests() and self._engine.core.is_quiet:
            await self._check_when_idle()
        delay = self._engine.core.next_poll_seconds()
        if delay is None and (self._engine.has_unfinished_requests() or self._stopping):
            delay = STALLED_POLL_SECONDS
        timer = asyncio.get_running_loop().call_later(delay, self._wake.set) if delay is not None else None
        await self._wake.wait()
        if timer is not None:
            timer.cancel()

    async def _check_when_idle(self) -> None:
        """Check for leaks, unless that was done recently. Drop the check as soon as there is something else to do."""
        if time.monotonic() - self._checked < CHECK_EVERY_SECONDS:
            return
        leak = None
        try:
            for seconds in self._engine.leak_check():
                await asyncio.sleep(seconds)
                if self._wake.is_set():
                    return
        except AssertionError as error:
            leak = str(error)
            if leak != self._leak:
                logger.exception("the check of the block pool failed: blocks are leaking. Please report this defect")
        self._leak = leak
        self._checked = time.monotonic()

    def _deliver(self, output: RequestOutput) -> None:
        stream = self._streams.get(output.request_id)
        if stream is not None:
            stream.put(output)
            if output.finished:
                del self._streams[output.request_id]


def _note_exception(ended: asyncio.Future[ModelRunnerOutput]) -> None:
    """Mark the exception as retrieved for asyncio. Finishing the step raises it."""
    if not ended.cancelled():
        ended.exception()
