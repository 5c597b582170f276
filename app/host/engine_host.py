"""The engine's lifecycle as clients see it: the port accepts requests before the engine starts and after it stops.

starting --ready()--> ok --stop()--> stopping
    \\--fail()--> failed

While the state is "ok", clients see "recovering" or "degraded" if the engine's workers or the database are unavailable.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from app.config.unloaded_adapters import UnloadedAdapters
from app.domain.storage_health import StorageHealth
from app.host.backend import Backend
from app.host.model_aliases import ModelAliases
from cache_tiers.owners.block_key import BlockKey
from engine.api.errors import NotFoundError, NotReadyError
from engine.api.stored_tokens import Trail
from engine.loop.stats import EngineStats

if TYPE_CHECKING:
    from app.host.models import ModelTable
    from app.host.served_model import ServedModel

State = Literal["starting", "ok", "stopping", "failed"]
Status = Literal["starting", "ok", "recovering", "degraded", "stopping", "failed"]
"""`State`, and two statuses in which the engine exists: its ranks are restarting, or nothing can be stored."""

RETRY_AFTER_SECONDS = 2
MOST_NAMED = 8
"""Names of models in an error."""


def kv_identity(engine: Backend, adapter: str) -> str:
    """Return the identity of what may change a bit of the KV and the answers of a request. adapter: empty for none.

    An adapter that is not loaded has the identity of no request.
    """
    if not adapter:
        return engine.kv_fingerprint
    digest = engine.adapters[adapter].digest if adapter in engine.adapters else ""
    return sha256(f"{engine.kv_fingerprint} {digest}".encode()).hexdigest()[: len(engine.kv_fingerprint)]


@dataclass(slots=True, kw_only=True)
class EngineHost:
    """Holder of the engine, before, while and after it runs.

    holds_threads: an engine is being made or runs, and its threads keep the process alive.
    engine: the model, the default one of several; None before the start has ended.
    progress: one sentence about the current step of the startup, or about its failure.
    prompt_identity: identity of the tokenizer and template. Stored token ids are used only under the same one.
    ready_at: Unix seconds; 0 until the engine is ready.
    storage: the health of the database.
    aliases: further names of the model.
    suggested_model: a better model of the catalogue that suits the machine; empty if there is none.
    unloaded_adapters: record of the adapters that a start leaves out.
    models: the models of a server that has several; None for one model, which is then `engine`.
    """

    state: State = "starting"
    holds_threads: bool = True
    progress: str = "preparing the engine"
    engine: Backend | None = None
    models: "ModelTable | None" = None
    prompt_identity: str = ""
    ready_at: int = 0
    storage: StorageHealth = field(default_factory=StorageHealth)
    aliases: ModelAliases = field(default_factory=ModelAliases)
    suggested_model: str = ""
    unloaded_adapters: UnloadedAdapters = field(default_factory=UnloadedAdapters)
    _is_ready: asyncio.Event = field(default_factory=asyncio.Event)

    def prompt_identity_of(self, engine: Backend) -> str:
        """Return the identity of the tokenizer and template of a model."""
        model = self.models.find(engine.model_name) if self.models is not None else None
        return model.facts.prompt_identity if model is not None and model.facts is not None else self.prompt_identity

    def fingerprint_of(self, engine: Backend) -> str:
        """Return the value of OpenAI's `system_fingerprint`, constant for as long as the model is the same."""
        return f"fp_{self.prompt_identity_of(engine)[:12]}"

    def report(self, sentence: str) -> None:
        """Report the current step of the startup. May be called from any thread."""
        self.progress = sentence

    def ready(self, engine: Backend, prompt_identity: str) -> None:
        """Serve requests with `engine` from now on, unless the server has begun to stop."""
        self.engine = engine
        self.prompt_identity = prompt_identity
        self.ready_at = int(time.time())
        if self.state == "starting":
            self.state = "ok"
            self._is_ready.set()

    async def until_ready(self) -> Backend:
        """Wait for the engine to serve, and return it."""
        await self._is_ready.wait()
        assert self.engine is not None
        return self.engine

    def fail(self, sentence: str) -> None:
        """Record that the startup failed. There will be no engine."""
        self.state = "failed"
        self.progress = sentence
        self.holds_threads = False

    async def stop(self, drain_seconds: float) -> None:
        """Refuse new requests, let running ones end within `drain_seconds`, then stop the engine."""
        self.state = "stopping"
        if self.engine is not None:
            await self.engine.stop(drain_seconds)
            self.holds_threads = False

    @property
    def status(self) -> Status:
        """State of the server as clients see it. The worst applicable status wins."""
        if self.gave_up:
            return "failed"
        if self.state != "ok":
            return self.state
        if self.lost_workers is not None:
            return "recovering"
        return "ok" if self.storage.reason is None else "degraded"

    @property
    def is_computing(self) -> bool:
        """Whether answers are being computed."""
        return self.stats().requests.running > 0

    def stats(self) -> EngineStats:
        """Return the statistics of all models together; empty before the start has ended."""
        if self.models is not None:
            return self.models.stats()
        return self.engine.stats() if self.engine is not None else EngineStats()

    @property
    def lost_workers(self) -> str | None:
        """Reason why the processes that compute the model are restarting; None if they are not."""
        if self.engine is None:
            return None
        stats = self.engine.stats()
        if stats.replicas and all(each.state != "ok" for each in stats.replicas):
            return stats.replicas[0].last_loss
        return stats.workers.last_loss if stats.workers is not None and stats.workers.state == "starting" else None

    @property
    def failed(self) -> bool:
        """Whether the startup has failed."""
        return self.state == "failed"

    @property
    def gave_up(self) -> bool:
        """Whether the engine failed for good after it had served."""
        return self.engine is not None and self.engine.is_broken

    def require(self, name: str | None = None) -> Backend:
        """Return the model that a client names, or the default one for None.

        Raise NotReadyError with the reason if the server does not serve, NotFoundError if no model and no alias has
        the name.
        """
        if self.state == "ok" and self.engine is not None:
            return self.engine if name is None else self._named(self.engine, name)
        match self.state:
            case "starting":
                raise NotReadyError(f"The server is starting: {self.progress}")
            case "failed":
                raise NotReadyError(f"The engine could not be started: {self.progress}")
            case _:
                raise NotReadyError("The server is stopping")

    def adapter_of(self, name: str) -> str:
        """Return the adapter that a client's `name` of a model stands for; empty for a model itself.

        Raise as `require`.
        """
        engine, model = self.require(name), self.aliases.model(name)
        return model if model in self.adapter_names(engine) else ""

    def adapter_names(self, engine: Backend) -> Sequence[str]:
        """Return the names of a model's adapters, also before its first load."""
        model = self.models.find(engine.model_name) if self.models is not None else None
        return tuple(engine.adapters) if model is None else model.adapter_names

    def find(self, name: str) -> "ServedModel | None":
        """Return the entry of one of several models, by its name, that of an adapter or an alias; None without one."""
        return self.models.find(self.aliases.model(name)) if self.models is not None else None

    def model_of(self, name: str | None) -> Backend:
        """Return the model that a stored answer names, or the default one: no model is named, or this one has gone.

        Raise as `require`.
        """
        model = self.find(name) if name is not None else None
        default = self.require()
        return default if model is None else model.backend

    @property
    def all_models(self) -> list[Backend]:
        """The models, the default one first; none before the start has ended."""
        if self.models is not None:
            return [each.backend for each in self.models]
        return [self.engine] if self.engine is not None else []

    def known_model(self, name: str | None) -> Backend | None:
        """Return `model_of` if its prompts can be made now; None before its first load, and while nothing is served."""
        if self.state != "ok" or self.engine is None:
            return None
        model = self.find(name) if name is not None else None
        if model is None:
            return self.engine
        return model.backend if model.facts is not None else None

    async def prepared(self, engine: Backend, request_timeout: float | None = None) -> None:
        """Wait until prompts for a model can be made: one of several has its tokenizer from its first load on.

        request_timeout: seconds; None for no timeout.

        Raise as `ModelTable.ready`.
        """
        model = self.models.find(engine.model_name) if self.models is not None else None
        if self.models is not None and model is not None and model.facts is None:
            await self.models.ready(model, self.models.patience(request_timeout))

    async def keys_of_trails(self, trails: Sequence[Trail], *, tenant: str) -> list[BlockKey]:
        """Return the keys of the blocks that only these trails of a tenant use, each of its own model.

        A model that is not served has no blocks. Raise NotReadyError without an engine.
        """
        if self.engine is None:
            raise NotReadyError(f"Nothing can be removed before the model is loaded: {self.progress}")
        if self.models is None:
            return await self.engine.keys_of_trails(trails, tenant=tenant)
        keys = list[BlockKey]()
        for model in self.models:
            names = {None, model.name} if model is self.models.default else {model.name}
            own = [each for each in trails if each.model in names]
            keys += await model.backend.keys_of_trails(own, tenant=tenant) if own else []
        return keys

    def _named(self, default: Backend, name: str) -> Backend:
        model = self.aliases.model(name)
        if self.models is None:
            if model == default.model_name or model in default.adapters:
                return default
            served = [default.model_name, *default.adapters]
        else:
            if (entry := self.models.find(model)) is not None:
                return entry.backend
            served = [name for each in self.models for name in (each.name, *each.adapter_names)]
        more = f" and {len(served) - MOST_NAMED} more" if len(served) > MOST_NAMED else ""
        raise NotFoundError(
            f"The model {name!r} does not exist; this server has {', '.join(map(repr, served[:MOST_NAMED]))}{more}",
            param="model",
            code="model_not_found",
        )
