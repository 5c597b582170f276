"""The task that runs steps on an event loop, and delivers their outputs."""

import asyncio
import logging
import time
from collections.abc import Callable
from math import inf
from typing import Any

from cache_tiers.moves.promises import ASK_AGAIN_SECONDS
from engine.api.errors import FOR_THE_PROCESS, EngineError
from engine.api.outputs import RequestOutput
from engine.api.request_stream import RequestStream
from engine.executor.workers import WorkersLostError
from engine.loop.core import InFlight, SchedulerInDoubtError, StepBehindFailureError
from engine.loop.llm_engine import LLMEngine
from engine.loop.stats import StatsLog
from engine.process.restart_budget import RestartBudget
from engine.request.scheduler_output import ModelRunnerOutput
from engine.scheduling.scheduler import Scheduler

CHECK_EVERY_SECONDS = 30.0
STALLED_POLL_SECONDS = 0.01
LOG_EVERY_SECONDS = 10.0
MAX_REBUILDS = 5
"""Maximum number of new schedulers within `REBUILD_SECONDS`. A more frequent defect is left to a new process."""
REBUILD_SECONDS = 600.0

logger = logging.getLogger(__name__)


class EngineLoop:
    """Owner of the loop task and of the open streams. Every method belongs to the thread of the event loop.

    streams: the stream of each request that has not ended, by its id.
    wake: set when the loop has something to do.
    task: the loop task; None until `start`.
    gave_up: set once the engine has failed permanently. By then every stream has ended with "abort", as during a stop.
    why_gave_up: the reason, in a sentence; empty until then.
    is_stopping: whether the loop ends as soon as no request, copy or load is in progress.
    """

    def __init__(self, engine: LLMEngine, *, on_finished: Callable[[], None] = lambda: None) -> None:
        """Prepare the loop. on_finished: called after the end of each request."""
        self.streams: dict[str, RequestStream] = {}
        self.wake = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.gave_up = asyncio.Event()
        self.why_gave_up = ""
        self.is_stopping = False
        self._engine = engine
        self._on_finished = on_finished
        self._deadline: asyncio.TimerHandle | None = None
        self._checked = time.monotonic()
        self._leak: str | None = None
        self._rebuilds = RestartBudget((0.0,) * MAX_REBUILDS, REBUILD_SECONDS)
        self._log = StatsLog(LOG_EVERY_SECONDS, engine.stats(), time.monotonic())
        engine.core.on_doubt = self.wake.set

    def start(self) -> None:
        """Start the loop task."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self.wake.set)

        self._engine.core.executor.on_lost = wake
        self.task = asyncio.create_task(self._guarded(), name="engine-loop")

    def stop_when_idle(self) -> None:
        """Have the loop end once no request, copy or load is in progress."""
        self.is_stopping = True
        self.wake.set()

    def end_deadlines(self) -> None:
        """End the requests whose deadline has passed, and cancel the timer of the next one."""
        self.expire()
        if self._deadline is not None:
            self._deadline.cancel()

    def deliver(self, output: RequestOutput) -> None:
        """Put an output into the stream of its request, and forget the stream after the last one."""
        stream = self.streams.get(output.request_id)
        if stream is not None:
            stream.put(output)
            if output.finished:
                del self.streams[output.request_id]
                self._on_finished()

    def watch_deadlines(self) -> None:
        """Set a timer for the next deadline or promise, independent of what the loop's task is waiting for."""
        if self._deadline is not None:
            self._deadline.cancel()
        delay = self._engine.core.ask(Scheduler.seconds_to_deadline, otherwise=None)
        if self._engine.is_promising:
            delay = min(delay, ASK_AGAIN_SECONDS) if delay is not None else ASK_AGAIN_SECONDS
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(delay, self.expire) if delay is not None else None

    def expire(self) -> None:
        """End the requests whose deadline has passed, and the answers that waited for a promise."""
        if self.is_broken:
            return
        for output in (*self._engine.take_promised(), *self._engine.expire_requests()):
            self.deliver(output)
        self.wake.set()
        self.watch_deadlines()

    @property
    def is_broken(self) -> bool:
        """Whether the engine has failed permanently and serves no more requests."""
        return self.gave_up.is_set()

    @property
    def is_idle(self) -> bool:
        """Whether no request, copy or load is in progress."""
        return not self._engine.has_unfinished_requests() and self._engine.core.is_quiet

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
        for request_id in list(self.streams):
            self.deliver(RequestOutput(request_id=request_id, text="", token_ids=(), finish_reason="abort"))

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
            self.deliver(output)
        self.watch_deadlines()

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
                self.deliver(report)
            if not core.in_flight:
                if self.is_stopping and self.is_idle:
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
                self.deliver(news)
            if self._engine.is_promising:
                self.expire()
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
            self.wake.clear()
            woken = asyncio.ensure_future(self.wake.wait())
            either: list[asyncio.Future[Any]] = [ended, woken]
            timeout = left if left < inf else None
            await asyncio.wait(either, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            woken.cancel()
            core.fill()

    async def _rest(self) -> None:
        """Sleep until a request arrives, or until a tier may have results."""
        self.wake.clear()
        # Blocks that wait for an unavailable tier may wait for days, so they do not count here.
        if not self._engine.has_unfinished_requests() and self._engine.core.is_quiet:
            await self._check_when_idle()
        delay = self._engine.core.next_poll_seconds()
        if delay is None and (self._engine.has_unfinished_requests() or self.is_stopping):
            delay = STALLED_POLL_SECONDS
        timer = asyncio.get_running_loop().call_later(delay, self.wake.set) if delay is not None else None
        await self.wake.wait()
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
                if self.wake.is_set():
                    return
        except AssertionError as error:
            leak = str(error)
            if leak != self._leak:
                logger.exception("the check of the block pool failed: blocks are leaking. Please report this defect")
        self._leak = leak
        self._checked = time.monotonic()


def _note_exception(ended: asyncio.Future[ModelRunnerOutput]) -> None:
    """Mark the exception as retrieved for asyncio. Finishing the step raises it."""
    if not ended.cancelled():
        ended.exception()
