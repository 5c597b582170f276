"""The models of a server that has several: which of them are in memory, and which one leaves for another.

Loads take turns. A load waits until there is room: the least recently used model that is not pinned is drained and
unloaded, an idle one before one that answers. Requests wait for their own model, so that no model waits for another's
requests. A model stays for a least time, so that clients of two models that share one place do not unload each other's
model with every request.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from types import MappingProxyType
from typing import Any, Final

from app.config.sizes import format_size
from app.host.daemon_thread import in_daemon_thread
from app.host.hidden_folders import without_folders
from app.host.model_memory import ModelMemory
from app.host.served_model import ModelEngine, ModelFacts, Report, ServedModel
from engine.api.errors import (
    ConflictError,
    EbbError,
    NotReadyError,
    OutageError,
    OverloadedError,
    TimeoutPassedError,
)
from engine.fleet.gateway.summed_stats import of_ended, summed
from engine.loop.stats import EngineStats
from models.errors import ModelError

LEAST_SECONDS: Final = 10.0
"""Time for which a model stays in memory before it leaves for another one."""

AGAIN_SECONDS: Final = 5.0
"""Time after a failed load in which requests are refused with its reason, without another attempt."""

DRAIN_SECONDS: Final = 5.0
FLUSH_PATIENCE: Final = 120.0
"""Seconds, beyond the usual ones, in which the blocks of a model that is unloaded reach the lower tiers."""

RETRY_SECONDS: Final = 5

ITS_PROCESS: Final = "replica 0: "
"""Beginning of the reports of the only process of a model."""

NO_PLACES: Final[Mapping[str, int]] = MappingProxyType({})

logger = logging.getLogger(__name__)


class NoRoomError(OutageError):
    """There is no memory for another model now. The message has the numbers."""

    code = "no_memory_for_model"


@dataclass(frozen=True, slots=True)
class Patience:
    """Longest wait of a request for its model.

    seconds: None for no limit.
    is_timeout: whether that is the request's own timeout, and not the limit of the queue.
    """

    seconds: float | None = None
    is_timeout: bool = False

    @classmethod
    def of(cls, timeout: float | None, queue_timeout: float) -> "Patience":
        """Return the shorter of a request's own timeout and the limit of the queue, of which 0 is none."""
        if timeout is not None and (not queue_timeout or timeout <= queue_timeout):
            return cls(timeout, is_timeout=True)
        return cls(queue_timeout or None)


ENDLESS: Final = Patience()


class ModelTable:
    """Owner of the models. Every method belongs to the event loop's thread.

    models: the default one first.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        *,
        most: int,
        places: Mapping[str, int] = NO_PLACES,
        free: Callable[[], int],
        max_waiting: int,
        queue_timeout: float,
        on_loaded: Callable[[str, ModelEngine], None] = lambda _name, _engine: None,
        on_close: Callable[[], None] = lambda: None,
        least_seconds: float = LEAST_SECONDS,
    ) -> None:
        """Make the table with no model in memory.

        most: most models in memory at once.
        places: most models on devices of a kind that one model has alone.
        free: returns the bytes of available memory. Blocks for a moment.
        max_waiting: most requests that wait for one model.
        queue_timeout: seconds for which a request waits; 0 for no limit.
        on_loaded: called on another thread with a model's name and its engine, before it serves.
        on_close: called on another thread after all engines have stopped.
        least_seconds: time for which a model stays before it leaves for another one.
        """
        self._models = {each.name: each for each in models}
        self.default = models[0]
        self._most = most
        self._places = places
        self._free = free
        self._max_waiting = max_waiting
        self._queue_timeout = queue_timeout
        self._on_loaded = on_loaded
        self._on_close = on_close
        self._least_seconds = least_seconds
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches: dict[str, list[asyncio.Task[None]]] = {}
        self._ended: EngineStats | None = None
        self._is_stopping = False

    def __iter__(self) -> Iterator[ServedModel]:
        """Iterate over the models, the default one first."""
        return iter(self._models.values())

    def find(self, name: str) -> ServedModel | None:
        """Return the model of this name; None if there is none."""
        return self._models.get(name)

    @property
    def engines(self) -> list[ModelEngine]:
        """Engines of the models in memory."""
        return [each.engine for each in self if each.engine is not None]

    @property
    def is_settled(self) -> bool:
        """Whether no model's blocks are on their way to the lower tiers or may come back from a process."""
        return all(each.state not in ("draining", "loading") for each in self)

    def stats(self) -> EngineStats:
        """Return the sum over all models, those that have left included."""
        each = [engine.stats() for engine in self.engines]
        if self._ended is not None:
            each.append(self._ended)
        return replace(summed(each), replicas=(), routes=None) if each else EngineStats()

    async def start(self, report: Report) -> None:
        """Load the default model, and then the pinned ones in the background. Raise the error of the load.

        report: receives the steps of the default model, which the log has.
        """
        default = self.default
        loading = self._begin_load(default)
        while not loading.done():
            change = asyncio.ensure_future(default.next_change())
            await asyncio.wait({change, loading}, return_when=asyncio.FIRST_COMPLETED)
            change.cancel()
            if default.state == "loading":
                report(default.progress)
        if default.refusal is not None:
            raise default.refusal
        for each in self:
            if each.is_pinned and each is not default:
                self._begin_load(each)

    def patience(self, timeout: float | None) -> Patience:
        """Return how long a request with this timeout waits for a model."""
        return Patience.of(timeout, self._queue_timeout)

    @asynccontextmanager
    async def engine_of(self, model: ServedModel, patience: Patience) -> AsyncGenerator[ModelEngine]:
        """Wait until a model is in memory, and yield its engine, which stays until the end of the block.

        Raise NotReadyError or NoRoomError with the reason why it cannot be loaded, OverloadedError if too many wait or
        the time is over, and TimeoutPassedError.
        """
        engine = await self.ready(model, patience)
        model.admitting += 1
        model.last_used = time.monotonic()
        try:
            yield engine
        finally:
            model.admitting -= 1
            model.idle_since = time.monotonic()
            model.announce()

    async def ready(self, model: ServedModel, patience: Patience = ENDLESS) -> ModelEngine:
        """Wait until a model is in memory. The rest is as in `engine_of`, but the model may leave at once."""
        if model.state == "loaded" and model.engine is not None:
            return model.engine
        if model.waiting >= self._max_waiting:
            raise OverloadedError(
                f"{model.waiting} requests wait for the model {model.name!r} already. Retry in {RETRY_SECONDS} s.",
                retry_after=RETRY_SECONDS,
            )
        model.waiting += 1
        try:
            async with asyncio.timeout(patience.seconds):
                return await self._until_loaded(model)
        except TimeoutError:
            text = f"The model {model.name!r} was not in memory in time: {model.progress or model.state}"
            if patience.is_timeout:
                raise TimeoutPassedError(text, param="timeout") from None
            raise OverloadedError(text, retry_after=RETRY_SECONDS, code="queue_timeout") from None
        finally:
            model.waiting -= 1

    async def _until_loaded(self, model: ServedModel) -> ModelEngine:
        while model.state != "loaded" or model.engine is None:
            if self._is_stopping:
                raise NotReadyError("The server is stopping")
            if model.state == "draining":
                await model.next_change()
                continue
            if model.state == "failed" and time.monotonic() < model.failed_at + AGAIN_SECONDS:
                assert model.refusal is not None
                raise model.refusal
            await asyncio.wait({self._begin_load(model)})
            if model.state == "failed" and model.refusal is not None:
                raise model.refusal
        return model.engine

    def _begin_load(self, model: ServedModel) -> "asyncio.Task[None]":
        if model.loading is None or model.loading.done():
            model.refusal, model.keep_alive = None, model.usual_keep_alive
            model.to("loading", "waiting for its turn")
            model.loading = self._run(self._load(model), f"load-{model.name}")
        return model.loading

    async def _load(self, model: ServedModel) -> None:
        try:
            async with self._turn:
                await self._make_room(model)
                logger.info("loading the model %s", model.name)
                engine, prompt_identity = await self._built(model)
        except (EbbError, ModelError) as error:
            self._fail(model, error)
        except Exception:
            logger.exception("the model %s could not be loaded", model.name)
            self._fail(model, NotReadyError("an unexpected error, which the log describes"))
        else:
            self._loaded(model, engine, prompt_identity)

    async def _built(self, model: ServedModel) -> tuple[ModelEngine, str]:
        build = partial(model.build, _report_of(model))
        engine, prompt_identity = await in_daemon_thread(build, f"load-{model.name}")
        await engine.start()
        await in_daemon_thread(partial(self._on_loaded, model.name, engine), f"note-{model.name}")
        return engine, prompt_identity

    def _loaded(self, model: ServedModel, engine: ModelEngine, prompt_identity: str) -> None:
        model.engine, model.facts = engine, ModelFacts.of(engine, prompt_identity)
        model.loaded_at = model.idle_since = time.monotonic()
        model.ready_at = int(time.time())
        model.to("loaded")
        logger.info("the model %s is in memory, window %d tokens", model.name, engine.max_model_len)
        self._watch(model, engine)

    def _fail(self, model: ServedModel, error: EbbError | ModelError) -> None:
        sentence = f"The model {model.name!r} could not be loaded: {error}"
        logger.error("%s", sentence)
        sentence = without_folders(sentence)
        model.refusal = NoRoomError(sentence) if isinstance(error, NoRoomError) else NotReadyError(sentence)
        model.failed_at, model.memory = time.monotonic(), None
        model.to("failed", sentence)

    def _watch(self, model: ServedModel, engine: ModelEngine) -> None:
        self._watches[model.name] = [
            self._run(self._notice_end(model, engine), f"watch-{model.name}"),
            self._run(self._expire(model, engine), f"expire-{model.name}"),
        ]

    def _unwatch(self, model: ServedModel) -> None:
        current = asyncio.current_task()
        for task in self._watches.pop(model.name, ()):
            if task is not current:
                task.cancel()

    async def _notice_end(self, model: ServedModel, engine: ModelEngine) -> None:
        """Mark a model as failed whose process could not be kept alive. The answers have ended by then."""
        await engine.gave_up.wait()
        self._unwatch(model)
        self._forget(model, engine)
        model.engine = None
        self._fail(model, NotReadyError(engine.why_gave_up))
        await engine.stop(0.0)

    def set_keep_alive(self, model: ServedModel, seconds: float) -> None:
        """Unload a model `seconds` after its last answer; infinite keeps it. Without effect on a pinned model.

        The next load begins with the usual time again.
        """
        model.keep_alive = seconds
        model.announce()

    async def _expire(self, model: ServedModel, engine: ModelEngine) -> None:
        """Unload a model once no request has come for its time."""
        while True:
            await engine.until_idle()
            model.idle_since = max(model.idle_since, time.monotonic())
            change = asyncio.ensure_future(model.next_change())
            wait = model.expires_in
            done, _ = await asyncio.wait({change}, timeout=None if wait == inf else wait)
            change.cancel()
            if not done and model.is_idle and model.expires_in <= 0:
                logger.info("the model %s was not used for %g s", model.name, model.keep_alive)
                await self._unload(model)
                return

    def begin_load(self, model: ServedModel) -> None:
        """Load a model in the background, if it is not in memory."""
        self._run(self._loaded_quietly(model), f"want-{model.name}")

    async def _loaded_quietly(self, model: ServedModel) -> None:
        # The state of the model has the reason of a failure.
        with suppress(EbbError):
            await self.ready(model)

    def begin_unload(self, model: ServedModel) -> None:
        """Unload a model in the background once its answers have ended, also a pinned one.

        Raise ConflictError while it is being loaded.
        """
        if model.state == "loading":
            raise ConflictError(f"The model {model.name!r} is being loaded. Retry in a moment.", code="model_loading")
        if model.state == "loaded":
            self._run(self._unload(model), f"unload-{model.name}")

    async def _unload(self, model: ServedModel) -> None:
        """Let the answers of a model end, write its blocks to the lower tiers, and end its process."""
        engine = model.engine
        assert engine is not None
        model.to("draining", "its answers end")
        self._unwatch(model)
        await model.until_idle()
        model.report("its KV blocks are written to the lower tiers")
        await engine.stop(DRAIN_SECONDS, FLUSH_PATIENCE)
        self._forget(model, engine)
        model.engine = None
        logger.info("the model %s is unloaded", model.name)
        model.to("unloaded")

    def _forget(self, model: ServedModel, engine: ModelEngine) -> None:
        ended = of_ended(engine.stats())
        self._ended = ended if self._ended is None else summed([self._ended, ended])
        model.memory = None

    async def _make_room(self, model: ServedModel) -> None:
        """Unload others until there is a place and memory for a model. Raise NoRoomError if that cannot be."""
        needed = await in_daemon_thread(partial(model.plan, _report_of(model)), f"plan-{model.name}")
        model.memory = needed
        while True:
            resident = [each for each in self if each.engine is not None]
            neighbours = [each for each in resident if each.kind == model.kind]
            free = await in_daemon_thread(self._free, "free-memory")
            has_place = len(neighbours) < self._places.get(model.kind, self._most)
            if has_place and len(resident) < self._most and needed.total <= free:
                return
            victim = self._victim(resident if has_place else neighbours)
            if victim is None or not self._would_fit(needed, free, resident):
                raise NoRoomError(self._why_no_room(needed, free, resident))
            model.report(f"waiting until {victim.name} is unloaded")
            await asyncio.sleep(victim.loaded_at + self._least_seconds - time.monotonic())
            if victim.state == "loaded":
                logger.info("unloading the model %s for %s", victim.name, model.name)
                await self._unload(victim)
            elif victim.state == "draining":
                await victim.next_change()

    def _victim(self, resident: Sequence[ServedModel]) -> ServedModel | None:
        """Return the model that leaves next: the least recently used idle one, or else the least recently used one."""
        may_leave = [each for each in resident if not each.is_pinned]
        return min(may_leave, key=lambda each: (not each.is_idle, each.last_used), default=None)

    def _would_fit(self, needed: ModelMemory, free: int, resident: Sequence[ServedModel]) -> bool:
        """Return whether a model fits once all that may leave have left."""
        released = sum(each.memory.total for each in resident if not each.is_pinned and each.memory is not None)
        return needed.total <= free + released

    def _why_no_room(self, needed: ModelMemory, free: int, resident: Sequence[ServedModel]) -> str:
        pinned = ", ".join(each.name for each in resident if each.is_pinned)
        stays = f"; {pinned} stay in memory (--models-pinned)" if pinned else ""
        if needed.total <= free:
            return f"all places for models are taken (--models-max {self._most}){stays}"
        return f"it needs {needed}, and {format_size(free)} are available{stays}"

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests to all models that have not ended."""
        return [id_ for engine in self.engines for id_ in engine.requests_of(tenant)]

    async def stop(self, drain_seconds: float) -> None:
        """Refuse new requests, let running ones end within `drain_seconds`, abort the rest, flush the tiers."""
        self._is_stopping = True
        for task in list(self._tasks):
            task.cancel()
        for each in self:
            each.announce()
        await asyncio.gather(*(engine.stop(drain_seconds) for engine in self.engines))
        await asyncio.to_thread(self._on_close)

    def _run(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        # The request that happens to begin the work is not named in its log lines.
        task = asyncio.create_task(work, name=name, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _report_of(model: ServedModel) -> Report:
    """Return a function that reports the steps of a load, from any thread."""
    loop = asyncio.get_running_loop()

    def report(sentence: str) -> None:
        sentence = sentence.removeprefix(ITS_PROCESS)
        logger.info("%s: %s", model.name, sentence)
        loop.call_soon_threadsafe(model.report, without_folders(sentence))

    return report
