"""A rolling upgrade under load: both servers and all replicas are restarted, one after the other.

A hundred clients read long answers all the time. None of them sees an error, and no answer differs from that of an
undisturbed server. The pauses of the clients are printed.
"""

import asyncio
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.observability.percentiles import percentile
from bench.server import EbbServer
from tests.e2e.server_process import SERVE
from tests.faults_fleet.clients import Chat, prompt_of
from tests.faults_fleet.scene import Scene, scene_of

STREAMS = int(os.environ.get("STREAMS", "100"))
QUESTIONS = 20
ROUNDS = int(os.environ.get("ROUNDS", "1"))
SECONDS_BETWEEN = 2.0
"""Time between two restarts, in which clients read undisturbed."""

PARAMS: dict[str, Any] = {"temperature": 0.8, "max_tokens": 600, "ignore_eos": True}


@dataclass(frozen=True)
class Restart:
    """One restart. pauses: seconds, the longest between two events of each client; seconds: until all served again."""

    what: str
    pauses: list[float]
    seconds: float
    num_again: int


async def test_rolling_upgrade_shows_no_error(shallow_model: Path, tmp_path: Path) -> None:
    async with scene_of(shallow_model, tmp_path, STREAMS, "--max-num-seqs", "64") as scene:
        questions = [Chat(prompt_of(100, at), {**PARAMS, "seed": at}) for at in range(QUESTIONS)]
        expected = await asyncio.gather(*(each.answer(scene.clients[0]) for each in questions))
        clients = asyncio.gather(*(scene.load(each, questions, expected) for each in scene.clients))
        restarts = [await measured(scene, "none", undisturbed)]
        for _ in range(ROUNDS):
            for name, restart in plan(scene)[: int(os.environ.get("PLAN", "9"))]:
                restarts.append(await measured(scene, name, restart))
                assert not clients.done(), await clients
        clients.cancel()
        with suppress(asyncio.CancelledError):
            await clients
        print_table(scene, restarts)


async def undisturbed() -> None:
    """Let the clients read for a while. Nothing waits for a condition here."""
    await asyncio.sleep(5.0)


def plan(scene: Scene) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
    """Return the restarts in their order: servers first, since they start the replicas of their own version."""

    def server(each: EbbServer) -> Callable[[], Awaitable[None]]:
        async def restart() -> None:
            await each.stop()
            await each.start()

        return restart

    def replica(index: int) -> Callable[[], Awaitable[None]]:
        async def restart() -> None:
            port = str(scene.urls()[0]).rpartition(":")[2]
            command = (*SERVE[:-1], "drain", str(index), "--port", port)
            await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)

        return restart

    servers = [(f"server {at}", server(each)) for at, each in enumerate(scene.servers)]
    return [*servers, *((f"replica {index}", replica(index)) for index in range(scene.num_replicas))]


async def measured(scene: Scene, what: str, restart: Callable[[], Awaitable[None]]) -> Restart:
    """Restart a part, and return the pauses of the clients until everything serves again, and a little longer."""
    again = sum(each.num_again for each in scene.clients)
    for client in scene.clients:
        client.reset()
    began = time.perf_counter()
    await restart()
    await scene.until_all_serve()
    seconds = time.perf_counter() - began
    # Pauses that have begun end in this time.
    await asyncio.sleep(SECONDS_BETWEEN)
    pauses = [client.longest for client in scene.clients]
    return Restart(what, pauses, seconds, sum(each.num_again for each in scene.clients) - again)


def print_table(scene: Scene, restarts: Sequence[Restart]) -> None:
    """Print the pauses in milliseconds."""
    print(f"\n{len(scene.clients)} streams, {scene.num_answers} answers ended, 0 errors, 0 differ\n")
    print("| restarted | seconds | pause p50 | p99 | max | connected again |")
    print("| --- | --- | --- | --- | --- | --- |")
    for each in restarts:
        pauses = [1000 * pause for pause in each.pauses]
        shown = " | ".join(f"{cell:,.0f}" for cell in (percentile(pauses, 50), percentile(pauses, 99), max(pauses)))
        print(f"| {each.what} | {each.seconds:.1f} | {shown} | {each.num_again} |")
