"""A real server on a free port of this process: uvicorn, the whole application and an engine that the test provides."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from app.access.auth_policy import AuthPolicy
from app.accounts.accounts import Accounts
from app.domain.bounds import KEEP_ALIVE_SECONDS
from app.domain.token_prices import TokenPrices
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.model_aliases import ModelAliases
from app.host.models import ModelTable
from app.http.request_context import BeginTrace
from app.open_services import ServicePlan, open_services
from app.prompts.prefix_rules import STABLE, PrefixRules
from app.server import http_protocol, make_app
from app.services import Services
from app.transport.connections import ConnectionLimits, Connections
from app.transport.tls import TlsContext
from tests.integration.described import hold_to_description


@asynccontextmanager
async def api_client(
    url: str, key: str | None = None, tls: ssl.SSLContext | None = None
) -> AsyncIterator[aiohttp.ClientSession]:
    """Open a client of the server at `url`; request paths are relative to `url`.

    Every JSON response is validated against the OpenAPI document. Responses left open by the test are closed on exit.

    key: sent as a bearer token; None sends no Authorization header. tls: None stands for the default context.
    """
    responses: list[aiohttp.ClientResponse] = []

    async def keep(_session: object, _context: object, request: aiohttp.TraceRequestEndParams) -> None:
        responses.append(request.response)

    trace = aiohttp.TraceConfig()
    trace.on_request_end.append(keep)
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    # Browsers accept cookies from an IP address too; aiohttp does not by default.
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(
        url,
        trace_configs=[trace],
        middlewares=[hold_to_description],
        headers=headers,
        cookie_jar=jar,
        connector=aiohttp.TCPConnector(ssl=tls if tls is not None else True),
    ) as session:
        yield session
        for response in responses:
            response.close()


E = TypeVar("E", bound=Backend)


@dataclass(frozen=True)
class RunningServer(Generic[E]):
    """A server that is accepting connections at `url`, and its parts."""

    url: str
    app: Starlette
    services: Services
    engine: E
    connections: Connections


STOP_SECONDS = 5.0
ROOMY = ConnectionLimits(total=1000, per_address=250)


class _Server(uvicorn.Server):
    """A uvicorn server that stops on an event.

    uvicorn polls every 0.1 s, three times per shutdown, which adds up over a test run.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()
        self.stopping = asyncio.Event()

    async def startup(self, sockets: object = None) -> None:
        await super().startup()
        self.is_up.set()

    async def main_loop(self) -> None:
        # The tick builds the default headers of all responses.
        await self.on_tick(0)
        await self.stopping.wait()

    async def shutdown(self, sockets: object = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        async with asyncio.timeout(STOP_SECONDS):
            # uvicorn has no event for the end of the last connection.
            while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110
                await asyncio.sleep(0.002)


@asynccontextmanager
async def running_server(
    state_dir: Path,
    engine: E,
    *,
    ready: bool = True,
    static: Path | None = None,
    cors_origins: tuple[str, ...] = (),
    bound_host: str = "127.0.0.1",
    public_url: str = "",
    auth_policy: AuthPolicy = "once made",
    limits: ConnectionLimits = ROOMY,
    tls: TlsContext | None = None,
    strict_fields: bool = False,
    aliases: ModelAliases | None = None,
    log_messages: bool = False,
    begin_trace: BeginTrace | None = None,
    routes: Sequence[Route] = (),
    prefix_rules: PrefixRules = STABLE,
    accounts: Accounts | None = None,
    share_links: bool = True,
    deleted_days: int = 0,
    token_prices: TokenPrices | None = None,
    models: ModelTable | None = None,
    database_url: str = "",
    reservable_bytes: int = 0,
) -> AsyncIterator[RunningServer[E]]:
    """Serve until the block ends, then stop `engine`.

    ready: False keeps the server reporting that it is starting.
    static: the folder of the web page; None stands for `state_dir`/static, which need not exist.
    bound_host: the address that the application believes it listens on.
    aliases: further names of the model.
    routes: routes matched before the application's own.
    prefix_rules: rules for the beginning of the prompts of API clients.
    accounts: logins of people.
    share_links: whether links to chats can be made and read.
    deleted_days: time for which deleted chats can be restored; 0 means ten minutes.
    token_prices: None if the server charges nothing.
    models: of a server that has several; `engine` is the default one.
    database_url: address of a PostgreSQL database, which replaces the file.
    reservable_bytes: bound of the disk tier, into which all reservations must fit.
    """
    host = EngineHost(aliases=aliases or ModelAliases(), models=models)
    path = state_dir / "conversations.db"
    services = await open_services(
        path,
        host,
        ServicePlan(
            auth_policy=auth_policy,
            prefix_rules=prefix_rules,
            accounts=accounts or Accounts(),
            share_links=share_links,
            deleted_days=deleted_days,
            token_prices=token_prices,
            database_url=database_url,
            reservable_bytes=lambda: reservable_bytes,
        ),
    )
    await engine.start()
    if ready:
        host.ready(engine, "identity")
    app = make_app(
        services,
        connections := Connections(limits),
        bound_host=bound_host,
        public_url=public_url,
        static=static if static is not None else state_dir / "static",
        cors_origins=cors_origins,
        strict_fields=strict_fields,
        log_messages=log_messages,
        begin_trace=begin_trace,
    )
    app.router.routes[:0] = routes
    try:
        async with served(app, connections, tls) as url:
            try:
                yield RunningServer(url, app, services, engine, connections)
                connections.check()
            finally:
                await engine.stop(0)
    finally:
        await services.close()


@asynccontextmanager
async def served(app: ASGIApp, connections: Connections, tls: TlsContext | None = None) -> AsyncIterator[str]:
    """Serve `app` until the block ends, and give its URL."""
    config = uvicorn.Config(
        app,
        port=0,
        http=http_protocol(connections, tls),
        ws="none",
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
    server = _Server(config)
    serving = asyncio.create_task(server._serve())
    await server.is_up.wait()
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        scheme, name = ("http", "127.0.0.1") if tls is None else ("https", "localhost")
        yield f"{scheme}://{name}:{port}"
    finally:
        server.stopping.set()
        await serving
