"""One of a server's models: its state, and its engine while it is in memory.

unloaded ──a request──> loading ──> loaded ──its memory is needed, or its time is over──> draining ──> unloaded
                           └──> failed ──a later request──> loading
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal, Protocol

from app.host.backend import Backend, PromptFormat, TextTokenizer
from app.host.model_memory import ModelMemory
from cache_tiers.tier import TierId
from engine.api.errors import EbbError
from engine.config import EngineConfig
from engine.fleet.routing.prompt_names import PromptNames
from models.adapters.adapter import Adapter
from models.retrieval.folder import Retrieval

ModelState = Literal["unloaded", "loading", "loaded", "draining", "failed"]

Report = Callable[[str], None]


class ModelEngine(Backend, Protocol):
    """An engine in another process, which can be stopped while the server lives."""

    @property
    def num_answers(self) -> int:
        """Number of answers that have not ended."""

    @property
    def names(self) -> PromptNames:
        """Maker of the keys of prompts, which works without the process."""

    async def until_idle(self) -> None:
        """Wait until all answers have ended."""

    async def stop(self, drain_seconds: float, patience: float = 0.0) -> None:
        """Stop as `Backend.stop`. patience: further seconds in which the tiers are flushed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """Facts that are known of a model from its first load on. With them, prompts are made without the model in memory.

    prompt_identity: identity of the tokenizer and template.
    """

    config: EngineConfig
    tokenizer: TextTokenizer
    chat_format: PromptFormat
    sampling_defaults: Mapping[str, float]
    retrieval: Retrieval
    tier_notes: Mapping[TierId, str]
    adapters: Mapping[str, Adapter]
    max_model_len: int
    kv_fingerprint: str
    names: PromptNames
    prompt_identity: str

    @classmethod
    def of(cls, engine: ModelEngine, prompt_identity: str) -> "ModelFacts":
        """Collect the facts of an engine that serves."""
        return cls(
            config=engine.config,
            tokenizer=engine.tokenizer,
            chat_format=engine.chat_format,
            sampling_defaults=engine.sampling_defaults,
            adapters=engine.adapters,
            retrieval=engine.retrieval,
            tier_notes=engine.tier_notes,
            max_model_len=engine.max_model_len,
            kv_fingerprint=engine.kv_fingerprint,
            names=engine.names,
            prompt_identity=prompt_identity,
        )


@dataclass(slots=True, kw_only=True)
class ServedModel:
    """One entry of the table of models. Every method belongs to the event loop's thread.

    source: the model as the settings name it: a folder, a file, a short name or a hub id.
    build: makes the engine, and returns it with the identity of tokenizer, template and tool format. Blocks.
    plan: fetches the model if necessary, and returns the memory that it will take. Blocks.
    describe: returns the configuration of the engine, also of a model that was never loaded. Blocks.
    kind: kind of the device that computes it.
    is_pinned: whether it is loaded at the start, and stays when another model needs memory.
    keep_alive: seconds after the last answer when the model is unloaded; infinite for no such time. A request may
        change it; `usual_keep_alive` is that of the settings.
    progress: the current step of a load, or the reason of a failure, in a sentence.
    refusal: the error of the last load; None if it succeeded.
    failed_at: monotonic time of the last failure.
    facts: None until the first load.
    loaded_at, idle_since: monotonic times.
    ready_at: Unix seconds of the last load; 0 before.
    waiting: requests that wait for the load.
    admitting: requests that the engine has not accepted yet.
    memory: the plan of the last load.
    backend: the model as the rest of the server sees it.
    """

    name: str
    source: str
    build: Callable[[Report], tuple[ModelEngine, str]]
    plan: Callable[[Report], ModelMemory]
    describe: Callable[[], EngineConfig]
    kind: str = "cpu"
    adapter_names: tuple[str, ...] = ()
    is_pinned: bool = False
    usual_keep_alive: float = inf
    keep_alive: float = inf
    state: ModelState = "unloaded"
    progress: str = ""
    refusal: EbbError | None = None
    failed_at: float = -inf
    engine: ModelEngine | None = None
    facts: ModelFacts | None = None
    loaded_at: float = -inf
    idle_since: float = -inf
    last_used: float = -inf
    ready_at: int = 0
    waiting: int = 0
    admitting: int = 0
    memory: ModelMemory | None = None
    backend: Backend = field(init=False, repr=False)
    loading: "asyncio.Task[None] | None" = field(default=None, repr=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def is_idle(self) -> bool:
        """Whether no request waits for the model or is computed by it."""
        has_answers = self.engine is not None and self.engine.num_answers > 0
        return not (self.waiting or self.admitting or has_answers)

    @property
    def expires_in(self) -> float:
        """Seconds until the model is unloaded if no request comes; infinite if it stays."""
        if self.is_pinned or self.keep_alive == inf:
            return inf
        return max(0.0, self.idle_since + self.keep_alive - time.monotonic()) if self.is_idle else self.keep_alive

    def to(self, state: ModelState, progress: str = "") -> None:
        """Change the state, and wake the requests that wait for a change."""
        self.state = state
        self.report(progress)

    def report(self, progress: str) -> None:
        """Note a step, and wake the requests that wait for a change."""
        self.progress = progress
        self.announce()

    def announce(self) -> None:
        """Wake the tasks that wait for a change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def next_change(self) -> None:
        """Wait until the state or the progress changes, or a request was accepted or refused."""
        await self._changed.wait()

    async def until_idle(self) -> None:
        """Wait until the engine has accepted and answered all requests that do not wait for a load."""
        while self.admitting or (self.engine is not None and self.engine.num_answers):
            if self.admitting:
                await self.next_change()
            elif self.engine is not None:
                await self.engine.until_idle()
