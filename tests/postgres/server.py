"""A server on a shared database, with an engine without a model."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from app.domain.records import Message
from app.host.engine_host import EngineHost
from app.open_services import ServicePlan, open_services
from app.runs.lease import LeaseWatch
from app.runs.run import Run
from app.schemas.conversations import NewMessage
from app.services import Services
from app.storage.connection import DatabaseConnection
from app.storage.store import Store
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.on_postgres import url_of

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


class Server:
    """A server whose lease is renewed only when a test says so."""

    def __init__(self, services: Services, engine: ReplayEngine) -> None:
        self.services = services
        self.engine = engine
        self.lease = services.records.lease
        # Time stands still, so a lease ends only when a test says so.
        self.lease._clock = lambda: 0.0
        self.lease._watch = LeaseWatch()

    def ready(self) -> None:
        """Have the engine ready from now on."""
        self.services.model.host.ready(self.engine, "identity")

    async def ask(self, content: str = "one") -> Run:
        conversation = await self.services.store.conversations.create({})
        return await self.services.turns.ask(conversation.id, NewMessage(content=content))

    async def asked(self, num_tokens: int, content: str = "one") -> Run:
        """Start an answer, and hold it after `num_tokens` stored tokens."""
        self.engine.hold()
        run = await self.ask(content)
        self.engine.allow(num_tokens)
        await self.engine.until_produced(self.engine.requests[-1], num_tokens)
        await self.services.records.runs._save([run])
        return run

    async def expire(self) -> None:
        """End the lease as if this server had not renewed it for long."""
        await expire(self.services.store)

    async def stored(self, run: Run) -> Message:
        return await self.services.store.messages.get(run.answer.id)

    def run(self, run_id: str) -> Run:
        found = self.services.records.runs.get(run_id, "local")
        assert found is not None
        return found


async def expire(store: Store) -> None:
    """End the lease of a server as another one does that has seen no renewal of it for long."""

    def write(connection: DatabaseConnection) -> None:
        connection.execute("UPDATE server SET is_live = FALSE WHERE id = ?", (store.database.server,))

    await store.database.write(write)


@asynccontextmanager
async def server(
    path: Path,
    name: str,
    engine: ReplayEngine | None = None,
    *,
    secret: bytes = b"secret",
    is_held: bool = False,
    is_ready: bool = True,
    url: str | None = None,
) -> AsyncIterator[Server]:
    """Run a server with a separate state directory.

    engine: makes titles; None for one that makes none.
    is_held: whether its engine computes nothing.
    is_ready: whether the engine is ready; otherwise it becomes so by `Server.ready`.
    url: address of the database; None for the one of `path`.
    """
    (path / name).mkdir(exist_ok=True)
    model_titles, host = engine is not None, EngineHost()
    engine = engine or ReplayEngine()
    await engine.start()
    if is_held:
        engine.hold()
    if is_ready:
        host.ready(engine, "identity")
    services = await open_services(
        path / name / "conversations.db",
        host,
        ServicePlan(
            model_titles=model_titles,
            database_url=url or url_of(path),
            secret_digest=secret,
        ),
    )
    made = Server(services, engine)
    assert services.records.lease._task is not None
    services.records.lease._task.cancel()
    yield made
    await engine.stop(0)
    await services.close()


async def end_of(run: Run) -> Message:
    async with asyncio.timeout(20):
        await run.ended.wait()
    return run.answer


async def frames_until_end(run: Run, after: int | None = None) -> list[bytes]:
    async with asyncio.timeout(20):
        return [frame async for frame in run.log.follow(after)]
