"""What the routes work with: made once at the start, found through the request."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request

from app.conversations import ConversationStore
from app.database import Database
from app.engine_host import EngineHost
from app.kv_erasure import KVErasure
from app.metrics import Metrics
from app.runs import RunRegistry
from app.turns import Turns

JOIN_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Services:
    """`database` is owned here; the engine is not."""

    host: EngineHost
    database: Database
    store: ConversationStore
    runs: RunRegistry
    erasure: KVErasure
    turns: Turns
    metrics: Metrics

    @classmethod
    async def open(cls, database_path: Path, host: EngineHost) -> "Services":
        """Open the conversations, and close the answers that a former process left unfinished."""
        database = await Database.open(database_path)
        store = ConversationStore(database)
        await store.close_unfinished()
        runs = RunRegistry(store)
        erasure = KVErasure(host, store)
        turns = Turns(host, store, runs, erasure)
        return cls(host, database, store, runs, erasure, turns, Metrics(host, lambda: runs.live))

    async def close(self) -> None:
        """Wait for the runs, which the engine has ended by then, and close the conversations."""
        with suppress(TimeoutError):
            async with asyncio.timeout(JOIN_SECONDS):
                await self.runs.join()
        await self.erasure.stop()
        await self.database.close()


def services_of(request: Request) -> Services:
    """The services of the application that serves `request`."""
    services = request.app.state.services
    assert isinstance(services, Services)
    return services
