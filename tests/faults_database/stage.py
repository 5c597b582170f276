"""Servers on a database that can be broken, each behind a proxy of its own."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote

import pytest

from bench.server import EBB_SERVE, EbbServer, ServerSettings
from tests.faults_database.ledger import NO_WINDOW
from tests.postgres.cluster import SCHEMA, Cluster, Clusters
from tests.postgres.proxy import Proxy

FLAGS: Final = ("--kv-memory", "64MiB", "--cpu-kv-memory", "0", "--redis-url", "off", "--chat-titles", "first-words")
SHARED: Final = ("--replicas", "2", "--shared-replicas", "127.0.0.1")
FAKE: Final = (sys.executable, "-m", "tests.faults_database.serve_fake")


@dataclass(frozen=True, slots=True)
class Topology:
    """The servers in front of a database.

    has_model: False for engines without a model. Two models on one machine would wait for each other.
    """

    name: str
    num_servers: int
    flags: tuple[str, ...] = ()
    has_model: bool = True


TOPOLOGIES: Final = (
    Topology("one server", 1),
    Topology("two servers", 2, has_model=False),
    Topology("shared replicas", 2, SHARED),
)


class Stage:
    """Servers, their proxies, and the database that the proxies lead to.

    window: the time in which the last fault may have lost confirmed writes.
    """

    def __init__(self, topology: Topology, clusters: Clusters, cluster: Cluster, proxies: Sequence[Proxy]) -> None:
        self.kind = topology.name
        self.clusters = clusters
        self.cluster = cluster
        self.proxies = proxies
        self.servers: list[EbbServer] = []
        self.window = NO_WINDOW

    def urls(self) -> list[str]:
        """Return the addresses of the servers that run."""
        return [each.base_url for each in self.servers if each.base_url is not None]

    def content(self) -> Cluster:
        """Return the database."""
        return self.cluster

    def lead_to(self, cluster: Cluster) -> None:
        """Lead new connections of all servers to another database."""
        for each in self.proxies:
            each.lead_to(cluster.home)

    def cut(self) -> None:
        """Close the connections of all servers."""
        for each in self.proxies:
            each.cut()


Strike = Callable[[Stage], Awaitable[None]]


@asynccontextmanager
async def stage(topology: Topology, folder: Path, model: Path | None = None) -> AsyncIterator[Stage]:
    """Start a database and the servers of a topology.

    model: None for engines without a model, short limits, and a clock of the database that cannot be moved.
    """
    secret, flags = folder / "secret", (*FLAGS, *topology.flags)
    secret.write_bytes(os.urandom(32))
    flags += ("--secret-file", str(secret))
    command: Sequence[str] = (*FAKE, "short", "serve") if model is None else (*FAKE, "serve")
    if model is not None and topology.has_model:
        command, flags = EBB_SERVE, (*flags, "--model", str(model))
    with Clusters.opened() as clusters, TemporaryDirectory() as sockets, pytest.MonkeyPatch.context() as patch:
        cluster = clusters.new(moves_clock=model is not None)
        async with AsyncExitStack() as stack:
            proxies = [
                stack.enter_context(Proxy(Path(sockets) / str(number), cluster.home))
                for number in range(topology.num_servers)
            ]
            made = Stage(topology, clusters, cluster, proxies)
            for number, proxy in enumerate(proxies):
                options = quote(f"-csearch_path={SCHEMA}")
                patch.setenv("EBB_DATABASE_URL", f"postgresql://ebb@/postgres?host={proxy.folder}&options={options}")
                server = EbbServer(ServerSettings(str(number), flags), folder / str(number), command)
                made.servers.append(await stack.enter_async_context(server))
            yield made
