"""Two servers in front of three replicas, and the clients that read answers there."""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from app.storage.replicas import ReplicaStore
from app.storage.store import Store
from bench.server import EbbServer, ServerSettings
from tests.faults_fleet.clients import Client, Question
from tests.faults_fleet.cut import cut_connections
from tests.on_postgres import url_of
from tests.redis_server import RedisServer

REPLICAS = 3
ASLEEP_SECONDS = 7.0
"""Time for which a server is frozen: its lease expires, and replicas drop it."""

FLAGS = ("--kv-memory", "900MiB", "--cpu-kv-memory", "512MiB", "--chat-titles", "first-words")
PROGRAM = """
from app.cli.main import main
from engine.fleet.placement import shared_placement
shared_placement.PAUSES = (0.0,) * 1000
raise SystemExit(main())
"""
"""`ebb`, with no limit on the restarts of replicas."""


class Scene:
    """Servers, replicas and clients."""

    num_replicas = REPLICAS

    def __init__(
        self, servers: Sequence[EbbServer], redis: RedisServer, directory: ReplicaStore, num_clients: int
    ) -> None:
        self.servers = servers
        self.redis = redis
        self.directory = directory
        self.num_answers = 0
        self.clients = [Client(self.urls, at) for at in range(num_clients)]
        self._numbers = count()

    def urls(self) -> list[str]:
        """Return the addresses of the servers that run."""
        return [each.base_url for each in self.servers if each.base_url is not None]

    async def load(self, client: Client, questions: Sequence[Question], expected: Sequence[list[str]]) -> None:
        """Ask one question after the other, and compare each answer."""
        while True:
            number = next(self._numbers) % len(questions)
            assert await questions[number].answer(client) == expected[number], f"question {number}"
            self.num_answers += len(expected[number])

    async def until_all_serve(self) -> None:
        """Wait until each server sees all replicas serve."""
        async with asyncio.timeout(120):
            for url in self.urls():
                while not await _sees_all(url):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)

    async def strike(self, kind: str, source: random.Random) -> None:
        """Break one part, and Redis with it if the kind says so. Return when the part is back."""
        if kind.endswith("without Redis"):
            self.redis.freeze()
        server = self._server_of(source.choice(self.clients))
        places = await self.directory.read()
        place = places[source.randrange(REPLICAS)].place
        assert place is not None
        if kind.startswith("replica"):
            os.kill(place.process.pid, signal.SIGSTOP if "frozen" in kind else signal.SIGKILL)
            await self._until_replaced(places)
        elif kind.startswith("connection"):
            assert cut_connections(server.pid, [place.port]) == 1
        elif "frozen" in kind:
            pid = server.pid
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(ASLEEP_SECONDS)
            os.kill(pid, signal.SIGCONT)
        else:
            await server.kill()
            await asyncio.sleep(source.uniform(0.0, 2.0))
            await server.start()
        self.redis.thaw()

    def _server_of(self, client: Client) -> EbbServer:
        """Return the server that a client uses, while all servers run."""
        return self.servers[client.at % len(self.servers)]

    async def _until_replaced(self, before: dict[int, Any]) -> None:
        async with asyncio.timeout(60):
            while await self.directory.read() == before:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def _sees_all(url: str) -> bool:
    try:
        async with aiohttp.ClientSession(url) as session, session.get("/health") as response:
            states = (await response.json())["replicas"]
    except aiohttp.ClientError:
        return False
    return len(states) == REPLICAS and all(each["state"] == "ok" for each in states)


@asynccontextmanager
async def scene_of(model_path: Path, folder: Path, num_clients: int, *flags: str) -> AsyncIterator[Scene]:
    """Start PostgreSQL's schema, Redis, and two servers that share three replicas of the model."""
    secret, redis_folder = folder / "secret", folder / "redis"
    secret.write_bytes(os.urandom(32))
    redis_folder.mkdir()
    redis = RedisServer(redis_folder)
    store = await Store.open_postgres(url_of(folder), serves=False)
    shared = ("--replicas", str(REPLICAS), "--shared-replicas", "127.0.0.1", "--redis-url", f"unix://{redis.socket}")
    settings = (*FLAGS, *shared, "--model", str(model_path), "--secret-file", str(secret), *flags)
    command = (sys.executable, "-c", PROGRAM, "serve")
    servers = [EbbServer(ServerSettings(name, settings), folder / name, command) for name in ("first", "second")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EBB_DATABASE_URL", url_of(folder))
        async with AsyncExitStack() as stack:
            stack.callback(redis.kill)
            stack.push_async_callback(store.close)
            for each in servers:
                await stack.enter_async_context(each)
            yield Scene(servers, redis, ReplicaStore(store.database), num_clients)
