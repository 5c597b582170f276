"""Requests that the server sends to the engine while the engine is idle."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from contextvars import Context
from typing import Generic, TypeVar

from app.domain.records import new_id
from app.host.backend import Backend
from engine.api.errors import EbbError
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency

logger = logging.getLogger(__name__)

Work = TypeVar("Work")
"""A piece of work, whose text names it in the log."""

LAST = (1 << 31) - 1
"""Lowest priority."""


def is_busy(engine: Backend, *, exclude: int = 0) -> bool:
    """Return whether the engine has more than `exclude` requests, or would have to load its model first."""
    if not engine.is_resident:
        return True
    stats = engine.stats()
    return stats.requests.running + stats.requests.waiting + stats.requests.loading + stats.requests.following > exclude


def behind_all(engine: Backend) -> Urgency:
    """Return an urgency lower than that of all other requests. Under "fcfs" there are no priorities."""
    return Urgency(0 if engine.config.scheduler.queue_policy == "fcfs" else LAST)


async def prefill(engine: Backend, ids: Sequence[int], tenant: str, poll_seconds: float) -> bool:
    """Compute a prompt, unless the engine becomes busy. Return whether it was computed.

    poll_seconds: time between two checks whether the engine is busy.
    """
    request = GenerateRequest(
        prompt_token_ids=ids,
        params=SamplingParams(max_tokens=0),
        request_id=new_id("next"),
        tenant=tenant,
        urgency=behind_all(engine),
    )
    [stream] = await engine.generate(request)

    async def abort_when_busy() -> None:
        while True:
            await asyncio.sleep(poll_seconds)
            if is_busy(engine, exclude=1):
                engine.abort(stream.request_id)
                return

    try:
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(abort_when_busy())
            whole = [output.finish_reason == "length" async for output in stream if output.finished]
            watch.cancel()
    finally:
        engine.abort(stream.request_id)
    return any(whole)


class IdleTasks(Generic[Work]):
    """Owner of work that waits until the engine is idle.

    One piece of work is attempted at a time, in the order in which they came. The others wait in a line as mere values:
    a busy server may have thousands, so they have no separate tasks and functions.
    """

    def __init__(
        self,
        attempt: Callable[[Work], Awaitable[bool]],
        failed: str,
        *,
        poll_seconds: float,
        patience_seconds: float,
        after: Callable[[Work], Awaitable[None]] | None = None,
    ) -> None:
        """Prepare to run tasks.

        attempt: tries to do a piece of work, and returns whether it is done.
        failed: the log message for work that failed.
        poll_seconds: time between two attempts.
        patience_seconds: time after which work is given up.
        after: called when work was done, failed or was given up.
        """
        self._attempt = attempt
        self._failed = failed
        self._poll_seconds = poll_seconds
        self._patience_seconds = patience_seconds
        self._after = after
        self._tasks: set[asyncio.Task[None]] = set()
        self._line = deque[tuple[Work, float]]()
        self._is_working = False

    def begin(self, work: Coroutine[None, None, None], context: Context | None = None) -> None:
        """Run `work` in the background until `stop`."""
        task = asyncio.create_task(work, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def put(self, work: Work) -> None:
        """Have `work` attempted in its turn until it is done, fails or the patience ends."""
        self._line.append((work, asyncio.get_running_loop().time() + self._patience_seconds))
        if not self._is_working:
            self._is_working = True
            # The context of the request that came first is of no concern to the others.
            self.begin(self._work_off(), Context())

    async def _work_off(self) -> None:
        """Work off the line."""
        try:
            while self._line:
                work, until = self._line.popleft()
                await self._succeed(work, until)
                if self._after is not None:
                    await self._after(work)
        finally:
            self._is_working = False

    async def _succeed(self, work: Work, until: float) -> None:
        """Attempt `work` until it is done or, at the loop's time `until`, given up. Logs errors and never raises."""
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    while True:
                        if await self._attempt(work):
                            return
                        await asyncio.sleep(self._poll_seconds)
        except EbbError as error:
            # The conversation was deleted, has no room for one more question, or the server is stopping.
            logger.debug("%s: %s: %s", work, self._failed, error.message)
        except Exception:
            logger.exception("%s: %s", work, self._failed)

    async def join(self) -> None:
        """Wait until all tasks have ended."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def stop(self) -> None:
        """Cancel the tasks. Unfinished work is dropped."""
        self._line.clear()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
