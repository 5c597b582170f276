"""A table of models whose engines compute nothing."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import cast

from app.host.kv_namespaces import KVNamespaces
from app.host.model_loads import ModelLoads
from app.host.model_memory import PROCESS_BYTES, ModelMemory
from app.host.model_room import ModelRoom
from app.host.models import ModelTable
from app.host.on_demand import OnDemandModel
from app.host.served_model import Report, ServedModel
from cache_tiers.owners.block_key import BlockKey
from engine.api.stored_tokens import Trail
from engine.fleet.routing.prompt_names import PromptNames
from engine.intake.prefix_keys import TenantSalts
from engine.testing.replay_engine import ReplayEngine

GIB = 1 << 30
SECRET = b"a secret of the tests"


class LoadedModel(ReplayEngine):
    """The engine of one load of a model."""

    def __init__(self, name: str, nbytes: int) -> None:
        super().__init__()
        self.nbytes = nbytes
        self.model_name = name
        self.kv_fingerprint = f"kv-{name}"
        self.config = self.config.with_fields(name=name, path=Path(name))
        self.names = cast("PromptNames", SimpleNamespace(keys_of_trails=self._keys))
        self.is_stopped = False

    async def _keys(self, trails: Sequence[Trail], tenant: str) -> list[BlockKey]:
        return await self.keys_of_trails(trails, tenant=tenant)

    async def until_idle(self) -> None:
        """Wait until all answers have ended."""
        while self.num_answers:  # noqa: ASYNC110
            await asyncio.sleep(0)

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:
        """Stop, once."""
        if not self.is_stopped:
            self.is_stopped = True
            await super().stop(drain_seconds, patience)


class Models:
    """A table with the models of these names, and a record of their loads.

    loads: engines in the order of their loads.
    failing: reason why the next load of a model fails, by its name.
    free: bytes of free memory without any model.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        pinned: Sequence[str] = (),
        needs: int = 1,
        most: int = 2,
        places: Mapping[str, int] = MappingProxyType({}),
        least_seconds: float = 0.0,
        max_waiting: int = 64,
        queue_timeout: float = 0.0,
    ) -> None:
        self.loads: list[LoadedModel] = []
        self.failing: dict[str, Exception] = {}
        self.free = 1 << 50
        self.needs = needs
        self._salts = TenantSalts(SECRET)
        models = [
            ServedModel(
                name=name,
                source=name,
                build=self._builder(name),
                plan=lambda _: ModelMemory(weights=self.needs),
                describe=lambda: ReplayEngine().config,
                is_pinned=name in pinned,
            )
            for name in names
        ]
        room = ModelRoom(most=most, places=places, free=self._now_free)
        loads = ModelLoads(models, room, least_seconds=least_seconds)
        self.table = ModelTable(models, loads, max_waiting=max_waiting, queue_timeout=queue_timeout)
        for model in models:
            model.backend = OnDemandModel(self.table, model, self._salts, KVNamespaces(Path("none"), self._salts))

    def _now_free(self) -> int:
        return self.free - sum(each.nbytes for each in self.loads if not each.is_stopped)

    def _builder(self, name: str) -> Callable[[Report], tuple[LoadedModel, str]]:
        def build(report: Report) -> tuple[LoadedModel, str]:
            report("reading the weights")
            if name in self.failing:
                raise self.failing.pop(name)
            self.loads.append(LoadedModel(name, self.needs + PROCESS_BYTES))
            return self.loads[-1], f"identity-{name}"

        return build

    def __getitem__(self, name: str) -> ServedModel:
        model = self.table.find(name)
        assert model is not None
        return model

    @property
    def loaded(self) -> set[str]:
        """Names of the models in memory."""
        return {each.name for each in self.table if each.state == "loaded"}

    async def until(self, name: str, state: str) -> None:
        """Wait until a model has a state."""
        async with asyncio.timeout(20):
            while self[name].state != state:
                await self[name].next_change()
