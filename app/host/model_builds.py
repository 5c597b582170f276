"""Construction of the table of models from the settings: one process for each model that is in memory."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

from app.config.options import SettingsError
from app.config.secret import load_secret
from app.config.served_models import served_models
from app.config.settings import Settings, trial_config
from app.host.backend import Backend
from app.host.daemon_thread import in_daemon_thread
from app.host.engine_host import EngineHost
from app.host.kv_namespaces import KVNamespaces
from app.host.model_loads import LEAST_SECONDS, ModelLoads
from app.host.model_memory import ModelMemory, memory_on_cpu
from app.host.model_room import ModelRoom
from app.host.models import ModelTable
from app.host.on_demand import OnDemandModel
from app.host.served_model import ModelEngine, Report, ServedModel
from app.host.startup import draft_folder, serving_config
from cache_tiers.config import TierConfig
from engine.config import EngineConfig
from engine.device.choice import choose_device
from engine.executor.device_shares import VARIABLES
from engine.fleet.build import build_fleet
from engine.fleet.remote_engine import RemoteEngine
from engine.intake.prefix_keys import TenantSalts
from engine.wiring.open_tiers import share_lower_tiers
from engine.worker.host_resources import available_memory
from models.adapters.found import find_adapters
from models.download.resolve import find_model, resolve_model
from models.weights.fingerprint import model_fingerprint

ACCELERATORS: Final = frozenset(VARIABLES)
"""Kinds of devices of which each model has one alone."""


async def start_models(settings: Settings, host: EngineHost, report: Report) -> tuple[Backend, str]:
    """Open the table of models for `host`, and load the default one and those that are pinned.

    Return the default model, with the identity of its tokenizer, template and tool format. Raise as `open_models` and
    `ModelTable.start`.
    """
    # Waiting threads of OpenMP sleep, as in a server with one model.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    host.models = table = await in_daemon_thread(partial(open_models, settings, report), "startup")
    await table.start(host.report)
    assert table.default.facts is not None
    return table.default.backend, table.default.facts.prompt_identity


def open_models(settings: Settings, report: Report, *, least_seconds: float = LEAST_SECONDS) -> ModelTable:
    """Make the table of the models that the settings list, and start the servers of lower tiers that they share.

    least_seconds: as for `ModelLoads`.

    Blocks. Raise SettingsError, and EngineError if a setting of the tiers is invalid.
    """
    served = served_models(settings)
    secret = load_secret(settings.secret_file)
    salts = TenantSalts(secret, settings.state_dir / "tenants.json")
    namespaces = KVNamespaces(settings.state_dir / "model-kv.json", salts)
    tiers = None
    with ExitStack() as closing:
        if not settings.no_prefix_cache:
            tiers, _ = share_lower_tiers(settings.tier_config(secret), report, closing)
        to_close = closing.pop_all()
    adapters = adapter_names(served)
    most = min(settings.models_max, len(served))
    devices = [trial_config(own, Path(own.model)).device for own in served.values()]
    makers = {
        name: _Maker(name=name, settings=own, tiers=tiers, salts=salts, num_engines=most)
        for name, own in served.items()
    }
    models = [
        ServedModel(
            name=name,
            source=own.model,
            kind=choose_device(own.device),
            adapter_names=adapters[name],
            build=makers[name].build,
            plan=makers[name].plan,
            describe=makers[name].describe,
            is_pinned=name in settings.models_pinned,
            usual_keep_alive=own.keep_alive or inf,
        )
        for name, own in served.items()
    ]
    places = {each.kind: len(each.accelerators) for each in devices if each.kind in ACCELERATORS}
    loads = ModelLoads(
        models,
        ModelRoom(most=most, places=places, free=available_memory),
        on_loaded=lambda name, engine: namespaces.note(name, engine.names.keys),
        least_seconds=least_seconds,
    )
    table = ModelTable(
        models,
        loads,
        max_waiting=settings.max_waiting,
        queue_timeout=settings.queue_timeout,
        on_close=to_close.close,
    )
    for model in table:
        model.backend = OnDemandModel(table, model, salts, namespaces)
        makers[model.name].engines = lambda: table.engines
    return table


def adapter_names(served: Mapping[str, Settings]) -> dict[str, tuple[str, ...]]:
    """Return the names of the adapters of each model, by the name of the model.

    Raise SettingsError for a name that stands for two things, ModelNotFoundError for a folder that cannot be read.
    """
    found, taken = dict[str, tuple[str, ...]](), {name: f"the model {name}" for name in served}
    for model, own in served.items():
        folders = find_adapters(own.adapters_dir) if own.adapters_dir is not None else []
        for path in folders:
            if path.name in taken:
                raise SettingsError(
                    f"models.{model}.adapters-dir: the adapter {path.name} has the name of {taken[path.name]}. Rename "
                    "its folder.",
                    param="adapters-dir",
                )
            taken[path.name] = f"an adapter of the model {model}"
        found[model] = tuple(path.name for path in folders)
    return found


@dataclass(slots=True, kw_only=True)
class _Maker:
    """Maker of the engine of one model.

    settings: of this model.
    tiers: lower tiers of all models; None without any.
    num_engines: most models in memory, among which the memory is divided where settings give no size.
    engines: returns the engines of the models in memory.
    """

    name: str
    settings: Settings
    tiers: TierConfig | None
    salts: TenantSalts
    num_engines: int
    engines: Callable[[], Sequence[ModelEngine]] = tuple

    def plan(self, report: Report) -> ModelMemory:
        """Fetch or convert the model if necessary, and return the memory that it will take in this machine's memory."""
        folder = self._folder(report)
        if choose_device(self.settings.device) in ACCELERATORS:
            return ModelMemory()
        return memory_on_cpu(self.settings, folder, draft_folder(self.settings, report))

    def describe(self) -> EngineConfig:
        """Return the configuration, with the path of the setting for a model that is not on this machine yet."""
        folder = find_model(self.settings.model, self.settings.cache_dir)
        return trial_config(self.settings, folder or Path(self.settings.model))

    def build(self, report: Report) -> tuple[RemoteEngine, str]:
        """Make the engine, whose process begins with its start."""
        folder = self._folder(report)
        config = serving_config(self.settings, folder, report, self.name)
        turns = self.settings.state_dir / "step-turns"
        config = config.with_fields(machine_share=self.num_engines, step_turns=turns)
        if self.tiers is not None:
            config = config.with_fields(tiers=replace(self.tiers, cpu_memory=self.settings.cpu_kv_memory))
        engine = build_fleet(self._on_free_device(config), 1, report, salts=self.salts)
        # Stored ids describe tools in the format that the model had then.
        return engine, f"{model_fingerprint(folder)}-{engine.chat_format.tools.name}"

    def _folder(self, report: Report) -> Path:
        settings = self.settings
        return resolve_model(settings.model, settings.cache_dir, report, device=choose_device(settings.device))

    def _on_free_device(self, config: EngineConfig) -> EngineConfig:
        """Choose an accelerator that no other model has."""
        taken = {each for engine in self.engines() for each in engine.config.device.accelerators}
        free = tuple(each for each in config.device.accelerators if each not in taken)
        return config.with_fields(accelerators=free[:1]) if config.device.kind in ACCELERATORS else config
