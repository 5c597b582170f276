"""Servers that share replicas on a cluster: one in a separate process, which a test can kill, and two in this one."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from app.config.secret import digest_of_secret
from app.config.settings import load_settings
from app.host.engine_host import EngineHost
from app.host.startup import engine_builder
from app.open_services import ServicePlan, open_services
from app.server import make_app
from app.transport.connections import Connections
from bench.server import EbbServer, ServerSettings
from engine.fleet.remote_engine import RemoteEngine
from tests.conftest import default_cache_dir
from tests.integration.api_server import ROOMY, RunningServer, served
from tests.on_postgres import url_of

REPLICAS = 2
START_SECONDS = 60.0
"""Time limit of the start of the first server and its replicas."""


@dataclass(frozen=True)
class SharingServers:
    """Servers of one database in PostgreSQL.

    first: a separate process, which had Ray start the replicas.
    others: two servers in this process.
    """

    first: EbbServer
    others: list[RunningServer[RemoteEngine]]

    @property
    def gateways(self) -> list[RemoteEngine]:
        """Gateways in this process."""
        return [each.engine for each in self.others]


async def sharing_servers(
    address: str, folder: Path, model: Path, redis_url: str, closing: AsyncExitStack
) -> SharingServers:
    """Start servers that share replicas of `model`, which end with the last server.

    address: of the cluster.
    folder: for what the servers store.
    closing: ends the servers.
    """
    secret = folder / "secret"
    secret.write_bytes(os.urandom(32))
    flags = {
        "database-url": url_of(folder),
        "secret-file": str(secret),
        "redis-url": redis_url,
        "cache-dir": str(default_cache_dir()),
        "model": str(model),
        "kv-memory": "64MiB",
        "cpu-kv-memory": "64MiB",
        "chat-titles": "first-words",
        "replicas": str(REPLICAS),
        "shared-replicas": "ray",
        "ray-address": address,
    }
    arguments = [part for name, text in flags.items() for part in (f"--{name}", text)]
    first = EbbServer(ServerSettings("first", tuple(arguments)), folder / "first")
    first_serves = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        names = ("second", "third")
        others = [
            group.create_task(closing.enter_async_context(_server(folder / name, flags, first_serves)))
            for name in names
        ]
        closing.push_async_callback(first.stop)
        await first.start(START_SECONDS)
        first_serves.set()
    return SharingServers(first, [each.result() for each in others])


@asynccontextmanager
async def _server(
    folder: Path, flags: Mapping[str, str], first_serves: asyncio.Event
) -> AsyncIterator[RunningServer[RemoteEngine]]:
    """Run a server in this process, whose gateway starts once the first server serves."""
    settings = load_settings({**flags, "state-dir": str(folder)}, environ={})
    settings.make_directories()
    host = EngineHost()
    services = await open_services(
        settings.database,
        host,
        ServicePlan(
            database_url=settings.database_url,
            secret_digest=digest_of_secret(settings.secret_file),
            shares_replicas=True,
        ),
    )
    try:
        build = engine_builder(settings, directory=services.records.replica_directory)
        engine, identity = await asyncio.to_thread(build, lambda _: None)
        assert isinstance(engine, RemoteEngine)
        try:
            await first_serves.wait()
            await engine.start()
            host.ready(engine, identity)
            app = make_app(services, connections := Connections(ROOMY), static=folder / "static")
            async with served(app, connections) as url:
                yield RunningServer(url, app, services, engine, connections)
        finally:
            await engine.stop(0.0)
    finally:
        await services.close()
