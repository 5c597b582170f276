"""Adapters that are loaded and unloaded while requests run."""

import asyncio
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any

from engine.api.adapter_refusals import already_loaded, unknown
from engine.api.errors import EngineError, InvalidRequestError, NotFoundError, NotReadyError
from engine.executor.workers import WorkersLostError
from engine.loop.llm_engine import LLMEngine
from models.adapters.adapter import Adapter
from models.adapters.found import find_adapters
from models.errors import ModelError


class Adapters:
    """Owner of the adapters of an engine. Every method belongs to the event loop's thread.

    An adapter that is unloaded, or replaced under its name, is freed once the requests for it have ended.
    """

    def __init__(self, engine: LLMEngine, folder: Path, control_tokens: Mapping[str, int]) -> None:
        """Take over the adapters that were read at the start.

        folder: the configured one.
        control_tokens: ids of the tokens that only templates write.
        """
        self._engine = engine
        self._executor = engine.core.executor
        self._folder = folder
        self._control = control_tokens
        self._held = {each.digest for each in self.by_name.values()}
        self._changing = asyncio.Lock()
        self._tasks = set[asyncio.Task[Any]]()

    @property
    def by_name(self) -> Mapping[str, Adapter]:
        """The adapters that requests may name."""
        return self._engine.processor.adapters

    async def load(self, name: str, *, in_place: bool) -> Adapter:
        """Read the adapter `name` of the folder, which requests may name from now on.

        in_place: whether it may replace one of the same name. Requests that run keep theirs.

        Raise InvalidRequestError with the field, NotFoundError, or NotReadyError while workers restart.
        """
        # A client that leaves must not leave an adapter behind that nothing owns.
        return await asyncio.shield(self._begin(self._load(name, in_place)))

    async def unload(self, name: str) -> None:
        """Refuse further requests for an adapter. Requests that run end as they would. Raise NotFoundError."""
        if name not in self.by_name:
            raise unknown(name, self.by_name)
        self._engine.processor.remove_adapter(name)
        self.drop_unused()

    def drop_unused(self) -> None:
        """Begin to free the adapters that no name stands for, once no request uses them."""
        if self._unused:
            self._begin(self._drop())

    @property
    def _unused(self) -> set[str]:
        unnamed = self._held.difference(each.digest for each in self.by_name.values())
        return unnamed - self._engine.adapters_in_use() if unnamed else unnamed

    async def _load(self, name: str, in_place: bool) -> Adapter:
        async with self._changing:
            if name in self.by_name and not in_place:
                raise already_loaded(name)
            try:
                adapter = await asyncio.to_thread(self._read, name)
            except WorkersLostError:
                raise NotReadyError("The processes of the model are restarting. Try again.") from None
            except (EngineError, ModelError) as error:
                raise InvalidRequestError(str(error), param="lora_name") from error
            self._held.add(adapter.digest)
            problem = invocation_problem(adapter, self._control)
            if not problem:
                self._engine.processor.add_adapter(adapter)
        self.drop_unused()
        if problem:
            raise InvalidRequestError(problem, param="lora_name")
        return adapter

    def _read(self, name: str) -> Adapter:
        found = [each.name for each in find_adapters(self._folder)]
        if name not in found:
            raise NotFoundError(
                f"The folder of adapters has no adapter {name!r}. It has {', '.join(map(repr, found)) or 'none'}.",
                param="lora_name",
                code="adapter_not_found",
            )
        return self._executor.load_adapter(name)

    async def _drop(self) -> None:
        async with self._changing:
            for digest in self._unused:
                self._held.discard(digest)
                await asyncio.to_thread(self._executor.drop_adapter, digest)

    def _begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work, name="adapters")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def invocation_problem(adapter: Adapter, control_tokens: Mapping[str, int]) -> str:
    """Return the reason why texts that users write could activate an adapter; empty if none can.

    Texts have no control tokens. Only the template writes those.
    """
    if not adapter.invocation or not frozenset(control_tokens.values()).isdisjoint(adapter.invocation):
        return ""
    return (
        f"the alora_invocation_tokens of {adapter.name} have no control token, so that any text could activate the "
        "adapter. Train it with a control token of the template."
    )
