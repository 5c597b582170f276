"""Two servers in front of three replicas, all of which are killed, frozen and cut off under load.

Eight clients ask one question after the other, of 500 to 2,000 tokens. They reconnect to whichever server answers. Each
fault strikes at a random moment, and the next one follows when everything serves again. No answer differs from that of
an undisturbed server, and no event is lost or doubled.
"""

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.observability.percentiles import percentile
from tests.faults_fleet.clients import questions_of
from tests.faults_fleet.scene import Scene, scene_of

FAULTS = int(os.environ.get("FAULTS", "300")) // 2
"""The other half strikes replicas below the servers (`test_replica_faults`)."""
CLIENTS = 8
LENGTHS = (350, 700, 1400)
"""Words of the prompts: 500 to 2,000 tokens."""

PAUSE_SECONDS = (0.2, 2.0)
"""Time between the return of everything and the next fault."""

KINDS = (
    "replica killed",
    "replica frozen",
    "connection cut",
    "server killed",
    "server frozen, wakes up",
    "replica killed, without Redis",
    "server killed, without Redis",
)


@dataclass(frozen=True)
class Fault:
    """One fault. pause: seconds, the longest between two events of any client."""

    kind: str
    pause: float
    num_again: int


@pytest.fixture
async def scene(model_path: Path, tmp_path: Path) -> AsyncIterator[Scene]:
    async with scene_of(model_path, tmp_path, CLIENTS) as made:
        yield made


async def test_no_answer_differs_whatever_part_breaks(scene: Scene, model_path: Path) -> None:
    questions = [each for kind in questions_of(model_path.name, LENGTHS).values() for each in kind]
    expected = [await each.answer(scene.clients[0]) for each in questions]
    source, faults = random.Random(int(os.environ.get("SEED", "1"))), list[Fault]()
    clients = asyncio.gather(*(scene.load(each, questions, expected) for each in scene.clients))
    for number in range(FAULTS):
        await scene.until_all_serve()
        # The moment of the fault is random, and nothing waits for a condition here.
        await asyncio.wait([clients], timeout=source.uniform(*PAUSE_SECONDS))
        assert not clients.done(), await clients
        again = sum(each.num_again for each in scene.clients)
        for each in scene.clients:
            each.reset()
        kind = KINDS[number % len(KINDS)]
        began = time.perf_counter()
        await scene.strike(kind, source)
        await _until_each_has_seen_something(scene, began)
        pause = max(each.longest for each in scene.clients)
        faults.append(Fault(kind, pause, sum(each.num_again for each in scene.clients) - again))
        if (number + 1) % 10 == 0:
            print(f"{number + 1} faults, {scene.num_answers} answers, 0 differ", flush=True)
    clients.cancel()
    with suppress(asyncio.CancelledError):
        await clients
    print_table(faults)


async def _until_each_has_seen_something(scene: Scene, began: float) -> None:
    """Wait until each client has had an event after the fault, so that its pause is known."""
    async with asyncio.timeout(120):
        while any(each.seen_at < began for each in scene.clients):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def print_table(faults: Sequence[Fault]) -> None:
    """Print the longest pauses of a client, in milliseconds, and how often clients connected again."""
    print("\n| fault | faults | pause p50 | p99 | max | connected again |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in dict.fromkeys(fault.kind for fault in faults):
        own = [fault for fault in faults if fault.kind == kind]
        pauses = [1000 * fault.pause for fault in own]
        cells = [percentile(pauses, 50), percentile(pauses, 99), max(pauses)]
        shown = " | ".join(f"{cell:,.0f}" for cell in cells)
        print(f"| {kind} | {len(own)} | {shown} | {sum(fault.num_again for fault in own)} |")
