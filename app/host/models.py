"""The models of a server that has several, and the requests that wait for one of them.

Requests wait for their own model, so that no model waits for another's requests.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Final

from app.host.model_loads import ModelLoads
from app.host.patience import ENDLESS, Patience
from app.host.served_model import ModelEngine, Report, ServedModel
from engine.api.errors import (
    ConflictError,
    EbbError,
    NotReadyError,
    OverloadedError,
    TimeoutPassedError,
)
from engine.fleet.gateway.summed_stats import summed
from engine.loop.stats import EngineStats

AGAIN_SECONDS: Final = 5.0
"""Time after a failed load in which requests are refused with its reason, without another attempt."""

RETRY_SECONDS: Final = 5


class ModelTable:
    """Owner of the models. Every method belongs to the event loop's thread.

    models: the default one first.
    """

    def __init__(
        self,
        models: Sequence[ServedModel],
        loads: ModelLoads,
        *,
        max_waiting: int,
        queue_timeout: float,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        """Make the table with no model in memory.

        loads: owner of the states of these models.
        max_waiting: most requests that wait for one model.
        queue_timeout: seconds for which a request waits; 0 for no limit.
        on_close: called on another thread after all engines have stopped.
        """
        self._models = {each.name: each for each in models}
        self._by_adapter = {adapter: each for each in models for adapter in each.adapter_names}
        self.default = models[0]
        self._loads = loads
        self._max_waiting = max_waiting
        self._queue_timeout = queue_timeout
        self._on_close = on_close
        self._is_stopping = False

    def __iter__(self) -> Iterator[ServedModel]:
        """Iterate over the models, the default one first."""
        return iter(self._models.values())

    def find(self, name: str) -> ServedModel | None:
        """Return the model of this name, or the one that has an adapter of this name; None if there is none."""
        return self._models.get(name) or self._by_adapter.get(name)

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
        if self._loads.ended is not None:
            each.append(self._loads.ended)
        return replace(summed(each), replicas=(), routes=None) if each else EngineStats()

    async def start(self, report: Report) -> None:
        """Load the default model, and then the pinned ones in the background. Raise the error of the load.

        report: receives the steps of the default model, which the log has.
        """
        default = self.default
        loading = self._loads.load(default)
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
                self._loads.load(each)

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
            await asyncio.wait({self._loads.load(model)})
            if model.state == "failed" and model.refusal is not None:
                raise model.refusal
        return model.engine

    def set_keep_alive(self, model: ServedModel, seconds: float) -> None:
        """Unload a model `seconds` after its last answer; infinite keeps it. Without effect on a pinned model.

        The next load begins with the usual time again.
        """
        model.keep_alive = seconds
        model.announce()

    def begin_load(self, model: ServedModel) -> None:
        """Load a model in the background, if it is not in memory."""
        self._loads.run(self._loaded_quietly(model), f"want-{model.name}")

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
            self._loads.unload(model)

    def requests_of(self, tenant: str) -> list[str]:
        """Return the ids of a tenant's requests to all models that have not ended."""
        return [id_ for engine in self.engines for id_ in engine.requests_of(tenant)]

    async def stop(self, drain_seconds: float) -> None:
        """Refuse new requests, let running ones end within `drain_seconds`, abort the rest, flush the tiers."""
        self._is_stopping = True
        self._loads.cancel()
        for each in self:
            each.announce()
        await asyncio.gather(*(engine.stop(drain_seconds) for engine in self.engines))
        await asyncio.to_thread(self._on_close)
