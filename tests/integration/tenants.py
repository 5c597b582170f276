"""A server that requires keys, with clients of two tenants and of an administrator."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from starlette.routing import Route

from app.accounts.accounts import Accounts
from app.tenants.principal import Scope
from app.transport.connections import ConnectionLimits
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import ROOMY, RunningServer, api_client, running_server


@dataclass(frozen=True)
class People:
    """Server and its clients. Each tenant has the name of its client.

    keys: API keys by the name of the client.
    """

    server: RunningServer[ReplayEngine]
    keys: dict[str, str]
    alice: aiohttp.ClientSession
    bob: aiohttp.ClientSession
    root: aiohttp.ClientSession
    stranger: aiohttp.ClientSession
    """Client without a key."""

    @property
    def engine(self) -> ReplayEngine:
        return self.server.engine


@asynccontextmanager
async def serving_people(
    state_dir: Path,
    *,
    cors_origins: tuple[str, ...] = (),
    limits: ConnectionLimits = ROOMY,
    routes: Sequence[Route] = (),
    accounts: Accounts | None = None,
) -> AsyncIterator[People]:
    """Serve until the block ends, with one client per tenant and one without a key.

    accounts: logins of people.
    """
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(
            running_server(
                state_dir, ReplayEngine(), cors_origins=cors_origins, limits=limits, routes=routes, accounts=accounts
            )
        )
        scopes: dict[str, Scope] = {"alice": "user", "bob": "user", "root": "admin"}
        keys = {}
        for name, scope in scopes.items():
            _, keys[name] = await server.services.access.administration.create_key(name, name, scope)
        clients = {name: await stack.enter_async_context(api_client(server.url, key)) for name, key in keys.items()}
        stranger = await stack.enter_async_context(api_client(server.url))
        yield People(server, keys, clients["alice"], clients["bob"], clients["root"], stranger)
