"""Servers that share replicas on the machines of a cluster, and a database in PostgreSQL.

An answer outlives the server that began it. Then the remaining servers follow when Ray starts the next epoch.
"""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from engine.loop.async_llm import AsyncLLMEngine
from tests.integration.engine.fleet.answers import KINDS, answers_alone, begun_of_all_kinds, told, until_states
from tests.ray.ahead import Ahead
from tests.ray.servers import SharingServers
from tests.run_reader import RunReader
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

QUESTION: dict[str, Any] = {
    "content": "Tell me a story about rivers, lakes and the sea.",
    "params": {"temperature": 0.8, "seed": 3, "max_tokens": 300, "ignore_eos": True},
}
"""Question whose answer is long, sampled, and the same each time."""
MAX_TOKENS = 80
"""Length of the other answers."""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def servers(ahead: Ahead) -> AsyncIterator[SharingServers]:
    """Return three servers on two replicas, which end with the last server."""
    servers: SharingServers = await ahead.started("shared")
    await asyncio.gather(*(until_states(each, "ok", "ok") for each in servers.gateways))
    yield servers
    pids = [each.pid for each in servers.gateways[0].stats().replicas]
    # No earlier, since the next epoch of a shared replica needs its machine.
    ahead.begin("three")
    await ahead.end("shared")
    for pid in pids:
        await asyncio.to_thread(until, lambda gone=pid: not Path(f"/proc/{gone}").exists())


def is_replica_actor(pid: int | None) -> bool:
    return b"ray::ReplicaActor" in Path(f"/proc/{pid}/cmdline").read_bytes()


async def new_conversation(url: str | None) -> str:
    async with aiohttp.ClientSession(url) as session, session.post("/api/conversations", json={}) as made:
        return str((await made.json())["id"])


async def replicas_at(url: str | None) -> list[dict[str, Any]]:
    async with aiohttp.ClientSession(url) as session, session.get("/health") as response:
        found: list[dict[str, Any]] = (await response.json())["replicas"]
        return found


async def test_answer_outlives_its_server_on_ray(servers: SharingServers) -> None:
    """Kill the server that had Ray start the replicas, while a client reads an answer there."""
    first, second = servers.first, servers.others[0]
    whole = RunReader(lambda: second.url)
    await whole.ask(await new_conversation(second.url), QUESTION)
    reader, place = RunReader(lambda: first.base_url or second.url), await new_conversation(first.base_url)
    reading = asyncio.create_task(reader.ask(place, QUESTION))
    await reader.until(40)
    at_first = await replicas_at(first.base_url)
    assert sum(each["answers"] for each in at_first) == 1
    assert all(is_replica_actor(each["pid"]) for each in at_first)
    await first.kill()
    assert not reading.done()
    async with asyncio.timeout(60):
        await reading
    assert reader.resumed
    assert reader.text == whole.text
    assert reader.last is not None
    assert (reader.last.kind, reader.last.data["message"]["content"]) == ("done", whole.text)
    # The second server has a later epoch of the run, on the replicas of the first one.
    assert reader.last.id is not None
    assert reader.last.id.startswith(f"{reader.run_id}:1.")
    assert [each["pid"] for each in await replicas_at(second.url)] == [each["pid"] for each in at_first]


async def test_servers_follow_to_the_next_epoch(servers: SharingServers, alone: AsyncLLMEngine) -> None:
    gateways = servers.gateways
    begun = await asyncio.gather(
        *(begun_of_all_kinds(engine, 1200 + 100 * at, MAX_TOKENS) for at, engine in enumerate(gateways))
    )
    before = [each.stats().replicas for each in gateways]
    assert [each.pid for each in before[0]] == [each.pid for each in before[1]]
    assert all(is_replica_actor(each.pid) for each in before[0])
    # Each gateway divides its answers by the speeds that it measured, so the busier replica is either one.
    hit = max((each for replicas in before for each in replicas), key=lambda each: each.answers)
    assert hit.answers
    os.kill(hit.pid or 0, signal.SIGKILL)
    for at, kinds in enumerate(begun):
        got = [[told(await reader.whole()) for reader in readers] for readers in kinds]
        alike = await answers_alone(alone, 1200 + 100 * at, MAX_TOKENS)
        for kind, here, expected in zip(KINDS, got, alike, strict=True):
            assert here == expected, kind
    after = await asyncio.gather(*(until_states(each, "ok", "ok") for each in gateways))
    mine, theirs = (replicas[hit.index] for replicas in after)
    assert mine.epoch == theirs.epoch > hit.epoch
    assert mine.pid == theirs.pid != hit.pid
