"""The life of the engine as clients see it: the port answers at once, the engine comes later and goes earlier.

starting --ready()--> ok --stop()--> stopping
    \\--fail()--> failed

While it is "ok", clients see "recovering" or "degraded" if the workers of the engine or the database are away.
"""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Literal

from app.backend import Backend
from app.storage.health import StorageHealth
from engine.errors import NotReadyError

State = Literal["starting", "ok", "stopping", "failed"]
Status = Literal["starting", "ok", "recovering", "degraded", "stopping", "failed"]
"""`State`, and two in which the engine exists: its ranks start again, or nothing can be stored."""

RETRY_AFTER_SECONDS = 2


@dataclass(slots=True)
class EngineHost:
    """Holds the engine once there is one. `progress` is one sentence about the step of the start, or its failure.

    prompt_identity: names the tokenizer and template; stored token ids are used under the same one only.
    holds_threads: an engine is being made or runs; its threads keep the process alive. ready_at: Unix seconds.
    storage: the health of the database, which the process shares with the engine.
    """

    state: State = "starting"
    holds_threads: bool = True
    progress: str = "preparing the engine"
    engine: Backend | None = None
    prompt_identity: str = ""
    ready_at: int = 0
    storage: StorageHealth = field(default_factory=StorageHealth)
    _is_ready: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def fingerprint(self) -> str:
        """What OpenAI calls system_fingerprint: the same as long as the model is."""
        return f"fp_{self.prompt_identity[:12]}"

    def report(self, sentence: str) -> None:
        """The start has come to this step. May be called from any thread."""
        self.progress = sentence

    def ready(self, engine: Backend, prompt_identity: str) -> None:
        """From now on requests are served, unless the server began to stop meanwhile."""
        self.engine = engine
        self.prompt_identity = prompt_identity
        self.ready_at = int(time.time())
        if self.state == "starting":
            self.state = "ok"
            self._is_ready.set()

    async def until_ready(self) -> Backend:
        """The engine, as soon as it serves."""
        await self._is_ready.wait()
        assert self.engine is not None
        return self.engine

    def fail(self, sentence: str) -> None:
        """There will be no engine."""
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
        """State of the server as clients see it, with the worst first."""
        if self.gave_up:
            return "failed"
        if self.state != "ok":
            return self.state
        if self.lost_workers is not None:
            return "recovering"
        return "ok" if self.storage.reason is None else "degraded"

    @property
    def is_computing(self) -> bool:
        """Whether answers are computed now."""
        return self.engine is not None and self.engine.stats().running > 0

    @property
    def lost_workers(self) -> str | None:
        """Why the processes that compute the model are being started again; None if they are not."""
        workers = self.engine.stats().workers if self.engine is not None else None
        return workers.last_loss if workers is not None and workers.state == "starting" else None

    @property
    def failed(self) -> bool:
        """Whether the start has failed."""
        return self.state == "failed"

    @property
    def gave_up(self) -> bool:
        """Whether the engine failed for good after it had served."""
        return self.engine is not None and self.engine.is_broken

    def require(self) -> Backend:
        """The engine, or NotReadyError with the reason."""
        if self.state == "ok" and self.engine is not None:
            return self.engine
        match self.state:
            case "starting":
                raise NotReadyError(f"The server is starting: {self.progress}")
            case "failed":
                raise NotReadyError(f"The engine could not be started: {self.progress}")
            case _:
                raise NotReadyError("The server is stopping")
