"""Adapters that all replicas load and unload, while requests run."""

import asyncio
from collections.abc import Mapping

from engine.api.adapter_refusals import already_loaded, unknown
from engine.api.errors import ConflictError, EbbError, EngineError, InvalidRequestError, NotReadyError
from engine.fleet.gateway.keeper import ReplicaKeeper
from engine.fleet.gateway.link import Link, ReplicaLostError
from engine.fleet.routing.prompt_names import PromptNames
from engine.fleet.wire.messages import LoadAdapter, UnloadAdapter
from models.adapters.adapter import Adapter

SHARED = (
    "Several servers share the replicas, so none of them can change the adapters. Change the folder, and restart the "
    "servers and replicas."
)
OTHER = "it has read another adapter than the others"


class RemoteAdapters:
    """Owner of the adapters of a fleet. Every method belongs to the event loop's thread.

    A replica that misses a change starts again, with the adapters of the others.
    """

    def __init__(self, keeper: ReplicaKeeper, names: PromptNames, *, is_shared: bool) -> None:
        """is_shared: whether other servers send requests to the replicas too."""
        self._keeper = keeper
        self._names = names
        self._is_shared = is_shared
        self._changing = asyncio.Lock()

    @property
    def by_name(self) -> Mapping[str, Adapter]:
        """The adapters that requests may name."""
        return {each.name: each for each in self._keeper.facts.adapters}

    async def load(self, name: str, *, in_place: bool) -> Adapter:
        """Have all replicas read an adapter. Raise as `engine.loop.adapters.Adapters.load`, and ConflictError."""
        self._check()
        async with self._changing:
            if name in self.by_name and not in_place:
                raise already_loaded(name)
            links = await self._keeper.serving()
            answers = await asyncio.gather(*(self._load_at(link, name) for link in links))
            read = [each for each in answers if isinstance(each, Adapter)]
            refusals = [each for each in answers if isinstance(each, EbbError)]
            if not read and not refusals:
                raise NotReadyError("The replicas are restarting. Try again.")
            if refusals or len(set(read)) > 1:
                for link, answer in zip(links, answers, strict=True):
                    if isinstance(answer, Adapter):
                        link.mark_lost(OTHER)
                raise refusals[0] if refusals else EngineError(f"The replicas read different files for {name!r}")
            self._names.keys.add_adapter(read[0])
            self._keeper.adopt_adapters([*self._others(name), read[0]])
            for link in set(self._keeper.ready).difference(links):
                link.mark_lost(OTHER)
            return read[0]

    async def unload(self, name: str) -> None:
        """Have all replicas refuse further requests for an adapter. Raise NotFoundError or ConflictError."""
        self._check()
        async with self._changing:
            if name not in self.by_name:
                raise unknown(name, self.by_name)
            self._keeper.adopt_adapters(self._others(name))
            links = self._keeper.ready
            await asyncio.gather(*(self._unload_at(link, name) for link in links))

    def _check(self) -> None:
        if self._is_shared:
            raise ConflictError(SHARED, code="shared_replicas")

    def _others(self, name: str) -> list[Adapter]:
        return [each for each in self._keeper.facts.adapters if each.name != name]

    async def _load_at(self, link: Link, name: str) -> Adapter | EbbError | None:
        """Return the adapter that a replica has read, or its refusal; None if the replica is lost."""
        try:
            adapter: Adapter = await link.call(lambda call: LoadAdapter(call, name))
        except ReplicaLostError:
            return None
        except EbbError as error:
            return error
        return adapter

    async def _unload_at(self, link: Link, name: str) -> None:
        try:
            await link.call(lambda call: UnloadAdapter(call, name))
        except ReplicaLostError:
            return
        except EbbError:
            link.mark_lost(OTHER)


def replaced(name: str) -> InvalidRequestError:
    """Return the end of an answer whose process was lost, and whose adapter is not there any more."""
    return InvalidRequestError(
        f"The adapter {name!r} was unloaded or replaced while the answer was computed. Ask again.", param="model"
    )
