"""Faults of the disk while chats return whose KV is in Redis and on the disk: Redis delivers what the disk does not.

The invariants are those of the faults of Redis.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import Table
from tests.faults.scene import ANSWER, CHAT_TOKENS, Answer, Scene, Strike
from tests.faults.test_faults import Broken, check_fault, loading, no_fault
from tests.faults_disk.disk import Mode, disk_at

HANG_SECONDS = 10.0


def hangs_before_a_look_up(broken: Broken) -> Strike:
    async def strike(_scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            hang(broken)

    return strike


def hangs_in_a_load(broken: Broken) -> Strike:
    async def strike(scene: Scene, number: int, task: "asyncio.Task[Answer]") -> None:
        if number == 1:
            await loading(scene, task)
            hang(broken)

    return strike


def hang(broken: Broken) -> None:
    """Let the disk hang for HANG_SECONDS from now on."""
    broken.disk.be("hang")
    asyncio.get_running_loop().call_later(HANG_SECONDS, broken.disk.be, "ok")


def becomes(mode: Mode) -> Callable[[Broken], Strike]:
    """Return a fault that lasts from the second chat on."""

    def make(broken: Broken) -> Strike:
        async def strike(scene: Scene, number: int, _task: "asyncio.Task[Answer]") -> None:
            if number == 1:
                broken.disk.be(mode)
                # Something to write.
                await scene.ask([*range(2000, 2300)], 1)

        return strike

    return make


FAULTS = [
    ("a disk as well, and nothing is wrong", no_fault),
    ("the disk hangs for 10 s from before a look-up", hangs_before_a_look_up),
    ("the disk hangs for 10 s in a load", hangs_in_a_load),
    ("the disk reads and writes 10 MB/s", becomes("slow")),
    ("the disk is full", becomes("full")),
    ("the disk turns read-only", becomes("read-only")),
    ("the disk cannot read", becomes("broken")),
]


@pytest.mark.parametrize(("name", "make"), FAULTS, ids=[name for name, _ in FAULTS])
async def test_disk_fault_costs_only_time(
    name: str, make: Callable[[Broken], Strike], model_path: Path, tmp_path: Path, table: Table
) -> None:
    with disk_at(tmp_path) as disk:
        outcome = await check_fault(name, model_path, tmp_path, table, make, disk=disk)
        assert list((disk.below / "kv").rglob("?" * 64)), "the disk had the blocks too"
    assert all(len(answer) == ANSWER for answer in outcome.answers)
    assert outcome.restored > CHAT_TOKENS, "what the disk does not deliver comes from Redis"
