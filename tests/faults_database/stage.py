"""Servers on a database that can be broken, each behind a separate proxy."""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote

from bench.server import EBB_SERVE, EbbServer, ServerFailedError, ServerSettings
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

    servers: those that run all the time.
    window: the time in which the last fault may have lost confirmed writes.
    """

    def __init__(
        self,
        topology: Topology,
        clusters: Clusters,
        cluster: Cluster,
        servers: Sequence[EbbServer],
        proxies: Sequence[Proxy],
        guests: "Guests | None",
    ) -> None:
        self.kind = topology.name
        self.clusters = clusters
        self.cluster = cluster
        self.servers = servers
        self.window = NO_WINDOW
        self._proxies = proxies
        self._guests = guests

    def steady_urls(self) -> list[str]:
        """Return the addresses of the servers that run all the time."""
        return [each.base_url for each in self.servers if each.base_url is not None]

    def urls(self) -> list[str]:
        """Return the addresses of all servers that run."""
        guest = self._guests.url if self._guests is not None else None
        return [*self.steady_urls(), *([guest] if guest is not None else [])]

    async def arrive(self) -> None:
        """Start a further server, where there are several. A start that the database prevents is repeated."""
        if self._guests is not None:
            await self._guests.arrive()

    async def depart(self) -> None:
        """Stop a server, where there are several."""
        if self._guests is not None:
            await self._guests.depart()

    def content(self) -> Cluster:
        """Return the database."""
        return self.cluster

    @property
    def proxies(self) -> Sequence[Proxy]:
        """The proxies of all servers, those of the servers that run all the time first."""
        return (*self._proxies, *(self._guests.proxies if self._guests is not None else ()))

    def lead_to(self, cluster: Cluster) -> None:
        """Lead new connections of all servers to another database."""
        for each in self.proxies:
            each.lead_to(cluster.home)

    def cut(self) -> None:
        """Close the connections of all servers."""
        for each in self.proxies:
            each.cut()


Strike = Callable[[Stage], Awaitable[None]]


class Guests:
    """Servers that come and go: one that runs, and one that starts before the first one stops.

    proxies: one for each of the two.
    """

    def __init__(self, proxies: Sequence[Proxy], server: Callable[[str, Proxy], EbbServer]) -> None:
        """Make the owner of the servers.

        server: makes one by its name and its proxy.
        """
        self.proxies = proxies
        self._server = server
        self._count = 0
        self._running: list[EbbServer] = []

    @property
    def url(self) -> str | None:
        """Address of the server that has run for longest; None if none does."""
        return next((each.base_url for each in self._running), None)

    async def arrive(self) -> None:
        """Start the next server. A start that the database prevents is repeated."""
        coming = self._server(f"guest-{self._count}", self.proxies[self._count % len(self.proxies)])
        self._count += 1
        while True:
            with suppress(ServerFailedError):
                await coming.start()
                break
        self._running.append(coming)

    async def depart(self) -> None:
        """Stop the server that has run for longest."""
        if self._running:
            await self._running.pop(0).stop()

    async def stop(self) -> None:
        """Stop all."""
        while self._running:
            await self.depart()


@asynccontextmanager
async def stage(topology: Topology, folder: Path, model: Path | None = None) -> AsyncIterator[Stage]:
    """Start a database and the servers of a topology.

    model: None for engines without a model, short limits, no servers that come and go, and a clock of the database that
        cannot be moved.
    """
    secret, flags = folder / "secret", (*FLAGS, *topology.flags)
    secret.write_bytes(os.urandom(32))
    flags += ("--secret-file", str(secret))
    command: Sequence[str] = (*FAKE, "short", "serve") if model is None else (*FAKE, "serve")
    if model is not None and topology.has_model:
        command, flags = EBB_SERVE, (*flags, "--model", str(model))

    def server(name: str, proxy: Proxy) -> EbbServer:
        options = quote(f"-csearch_path={SCHEMA}")
        url = f"postgresql://ebb@/postgres?host={proxy.folder}&options={options}"
        return EbbServer(ServerSettings(name, (*flags, "--database-url", url)), folder / name, command)

    with Clusters.opened() as clusters, TemporaryDirectory() as sockets:
        cluster = clusters.new(moves_clock=model is not None)
        async with AsyncExitStack() as stack:

            def proxies(count: int, kind: str) -> list[Proxy]:
                made = [Proxy(Path(sockets) / f"{kind}{number}", cluster.home) for number in range(count)]
                return [stack.enter_context(each) for each in made]

            steady = proxies(topology.num_servers, "steady")
            servers = [
                await stack.enter_async_context(server(str(number), proxy)) for number, proxy in enumerate(steady)
            ]
            guests = None
            if model is not None and topology.num_servers > 1:
                guests = Guests(proxies(2, "guest"), server)
                stack.push_async_callback(guests.stop)
                await guests.arrive()
            yield Stage(topology, clusters, cluster, servers, steady, guests)
