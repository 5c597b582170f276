"""Loads and unloads of the models: from the plan of the memory to the end of the process.

Loads take turns. A load waits until there is room: the least recently used model that is not pinned is drained and
unloaded, an idle one before one that answers. A model stays for a least time, so that clients of two models that share
one place do not unload each other's model with every request.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from contextvars import Context
from functools import partial
from math import inf
from typing import Any, Final

from app.host.daemon_thread import in_daemon_thread
from app.host.hidden_folders import without_folders
from app.host.model_room import ModelRoom, NoRoomError
from app.host.served_model import ModelEngine, ModelFacts, Report, ServedModel
from engine.api.errors import EbbError, NotReadyError
from engine.fleet.gateway.summed_stats import of_ended, summed
from engine.loop.stats import EngineStats
from models.errors import ModelError

LEAST_SECONDS: Final = 10.0
"""Time for which a model stays in memory before it leaves for another one."""

DRAIN_SECONDS: Final = 5.0
FLUSH_PATIENCE: Final = 120.0
"""Seconds, beyond the usual ones, in which the blocks of a model that is unloaded reach the lower tiers."""

ITS_PROCESS: Final = "replica 0: "
"""Beginning of the reports of the only process of a model."""

logger = logging.getLogger(__name__)


class ModelLoads:
    """Owner of the states of the models. Every method belongs to the event loop's thread.

    ended: sum of the statistics of the engines that have ended; None before the first one.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        room: ModelRoom,
        *,
        on_loaded: Callable[[str, ModelEngine], None] = lambda _name, _engine: None,
        least_seconds: float = LEAST_SECONDS,
    ) -> None:
        """Begin with no model in memory.

        on_loaded: called on another thread with a model's name and its engine, before it serves.
        least_seconds: time for which a model stays before it leaves for another one.
        """
        self._models = models
        self._room = room
        self._on_loaded = on_loaded
        self._least_seconds = least_seconds
        self._turn = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches: dict[str, list[asyncio.Task[None]]] = {}
        self.ended: EngineStats | None = None

    def load(self, model: ServedModel) -> "asyncio.Task[None]":
        """Begin to load a model that is not in memory. Return the task of the load, whose end changes the state."""
        if model.loading is None or model.loading.done():
            model.refusal, model.keep_alive = None, model.usual_keep_alive
            model.to("loading", "waiting for its turn")
            model.loading = self.run(self._load(model), f"load-{model.name}")
        return model.loading

    def unload(self, model: ServedModel) -> None:
        """Unload a model that is in memory, in the background, once its answers have ended."""
        self.run(self._unload(model), f"unload-{model.name}")

    def run(self, work: Coroutine[Any, Any, None], name: str) -> "asyncio.Task[None]":
        """Run a coroutine in the background, until its end or `cancel`."""
        # The request that happens to begin the work is not named in its log lines.
        task = asyncio.create_task(work, name=name, context=Context())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def cancel(self) -> None:
        """End all loads, unloads and other work in the background. The engines continue."""
        for task in list(self._tasks):
            task.cancel()

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

    async def _make_room(self, model: ServedModel) -> None:
        """Unload others until there is a place and memory for a model. Raise NoRoomError if that cannot be."""
        model.memory = await in_daemon_thread(partial(model.plan, _report_of(model)), f"plan-{model.name}")
        while True:
            resident = [each for each in self._models if each.engine is not None]
            victim = await self._room.victim_for(model, resident)
            if victim is None:
                return
            model.report(f"waiting until {victim.name} is unloaded")
            await asyncio.sleep(victim.loaded_at + self._least_seconds - time.monotonic())
            if victim.state == "loaded":
                logger.info("unloading the model %s for %s", victim.name, model.name)
                await self._unload(victim)
            elif victim.state == "draining":
                await victim.next_change()

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
        self._watches[model.name] = [
            self.run(self._notice_end(model, engine), f"watch-{model.name}"),
            self.run(self._expire(model, engine), f"expire-{model.name}"),
        ]

    def _fail(self, model: ServedModel, error: EbbError | ModelError) -> None:
        sentence = f"The model {model.name!r} could not be loaded: {error}"
        logger.error("%s", sentence)
        sentence = without_folders(sentence)
        model.refusal = NoRoomError(sentence) if isinstance(error, NoRoomError) else NotReadyError(sentence)
        model.failed_at, model.memory = time.monotonic(), None
        model.to("failed", sentence)

    async def _notice_end(self, model: ServedModel, engine: ModelEngine) -> None:
        """Mark a model as failed whose process could not be kept alive. The answers have ended by then."""
        await engine.gave_up.wait()
        self._unwatch(model)
        self._forget(model, engine)
        self._fail(model, NotReadyError(engine.why_gave_up))
        await engine.stop(0.0)

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
        logger.info("the model %s is unloaded", model.name)
        model.to("unloaded")

    def _unwatch(self, model: ServedModel) -> None:
        current = asyncio.current_task()
        for task in self._watches.pop(model.name, ()):
            if task is not current:
                task.cancel()

    def _forget(self, model: ServedModel, engine: ModelEngine) -> None:
        ended = of_ended(engine.stats())
        self.ended = ended if self.ended is None else summed([self.ended, ended])
        model.engine = model.memory = None


def _report_of(model: ServedModel) -> Report:
    """Return a function that reports the steps of a load, from any thread."""
    loop = asyncio.get_running_loop()

    def report(sentence: str) -> None:
        sentence = sentence.removeprefix(ITS_PROCESS)
        logger.info("%s: %s", model.name, sentence)
        loop.call_soon_threadsafe(model.report, without_folders(sentence))

    return report
