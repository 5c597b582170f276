"""`ebb drain`: restart one replica of the running server while the others continue its answers."""

import asyncio
from typing import Any

from app.cli.running_server import run_with_server
from app.client.chat_client import ChatClient, RefusedError
from app.config.settings import Settings
from app.transport.tls import own_certificate

POLL_SECONDS = 0.2


def drain(settings: Settings, replica: int, api_key: str | None = None) -> int:
    """Drain a replica, and wait until its next epoch serves. Returns the exit status."""
    return run_with_server(_drain(settings, replica, api_key))


async def _drain(settings: Settings, replica: int, api_key: str | None) -> None:
    async with ChatClient(settings.client_url, api_key, own_certificate(settings)) as client:
        before = await _state(client, replica)
        await client.drain(replica)
        print(f"Replica {replica} is drained: the others continue its answers.", flush=True)
        while (now := await _state(client, replica))["state"] != "ok" or now["epoch"] == before["epoch"]:
            if now["state"] == "failed":
                raise RefusedError(f"replica {replica} did not start again: {now['last_loss']}")
            await asyncio.sleep(POLL_SECONDS)
        print(f"Replica {replica} serves again (epoch {now['epoch']}).")


async def _state(client: ChatClient, replica: int) -> dict[str, Any]:
    """Return the state of a replica. Raise NoServerError, RefusedError."""
    for each in (await client.health())["replicas"] or ():
        if each["index"] == replica:
            state: dict[str, Any] = each
            return state
    raise RefusedError(
        f"the server at {client.url} shows no replica {replica}. `ebb serve --replicas N` starts replicas 0 to N - 1, "
        "and only an administrator's key sees them"
    )
