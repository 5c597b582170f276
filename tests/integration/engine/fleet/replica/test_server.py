"""`ebb serve --replicas 2` as a process: clients that reconnect lose and double nothing when a replica dies."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.conftest import default_cache_dir
from tests.e2e.server_process import SERVE, ebb_process
from tests.integration.api_server import api_client
from tests.integration.conversations_client import created, read, shown
from tests.integration.sse_events import all_events, events, text_of
from tests.sizes import MANY_PROCESSES

pytestmark = MANY_PROCESSES

TOKENS = 120
ANSWER = {"temperature": 0.8, "seed": 5, "max_tokens": TOKENS, "min_tokens": TOKENS, "ignore_eos": True}


@pytest.fixture
async def http(shallow_model: Path, tmp_path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    """Run a server with two replicas, and yield a client. No replica outlives the server."""
    flags = ("--model", str(shallow_model), "--replicas", "2", "--kv-memory", "64MiB", "--cpu-kv-memory", "64MiB")
    with ebb_process(tmp_path, *flags, "--cache-dir", str(default_cache_dir()), "--redis-url", "off") as process:
        async with api_client(process.url) as session:
            yield session
            pids = [each["pid"] for each in await replicas(session)]
        process.stop()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def replicas(http: aiohttp.ClientSession) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await read(http, "/health"))["replicas"]
    return found


async def test_client_that_reconnects_sees_each_event_once(http: aiohttp.ClientSession) -> None:
    conversation = await created(http, params=ANSWER)
    path = f"/api/conversations/{conversation}/messages"
    seen = []
    async for event in events(await http.post(path, json={"content": "Tell me about tides."})):
        seen.append(event)
        if len(seen) == 6:
            break
    [busy] = [each for each in await replicas(http) if each["answers"]]
    os.kill(busy["pid"], signal.SIGKILL)
    run_id = seen[0].data["message"]["run_id"]
    rest = await all_events(await http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1].id or ""}))
    [_, answer] = (await shown(http, conversation))["messages"]
    assert text_of(seen) + text_of(rest) == answer["content"]
    assert answer["usage"]["completion_tokens"] == TOKENS

    # Undisturbed, the same question gets the same answer.
    again = (await all_events(await http.post(f"/api/messages/{answer['id']}/retry")))[-1].data["message"]
    assert again["content"] == answer["content"]
    async with asyncio.timeout(60):
        while (states := [each["state"] for each in await replicas(http)]) != ["ok", "ok"]:
            assert set(states) <= {"ok", "starting"}
            await asyncio.sleep(0.02)
    [lost] = [each for each in await replicas(http) if each["index"] == busy["index"]]
    assert (lost["restarts"], lost["epoch"]) == (1, 3)
    assert lost["last_loss"]

    # An administrator restarts the other one.
    assert http._base_url is not None
    command = [*SERVE[:-1], "drain", str(1 - busy["index"]), "--port", str(http._base_url.port)]
    drained = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    assert "the others continue its answers" in drained.stdout
    assert drained.stdout.endswith(f"Replica {1 - busy['index']} serves again (epoch 4).\n")
