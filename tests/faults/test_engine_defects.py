"""Defects of the engine while chats return: a new scheduler continues the requests, and no answer changes."""

import asyncio
import math
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from engine.scheduling.scheduler import Scheduler
from tests.faults.conftest import Table
from tests.faults.scene import ANSWER, Answer, Scene, Strike
from tests.faults.test_faults import Broken, check_fault, loading

FaultPoint = Callable[[Scene], tuple[object, str]]
"""Function that finds the method to fail, as (owner, name), in the current scheduler."""


def in_scheduler(scene: Scene) -> tuple[object, str]:
    """Choose the scheduler's method that takes the result of a step."""
    return scene.scheduler, "update"


def in_tiers(scene: Scene) -> tuple[object, str]:
    """Choose the method with which the tiers report arrived blocks."""
    return scene.scheduler.connector, "poll"


def fail_once(owner: object, name: str) -> None:
    """Make the next call of a method raise an exception that the method should never raise."""
    method = getattr(owner, name)

    def fail(*_: object, **__: object) -> NoReturn:
        setattr(owner, name, method)
        raise RuntimeError("a defect")

    setattr(owner, name, fail)


async def succeeded(scene: Scene, failed: Scheduler) -> None:
    """Wait until a new scheduler has replaced the `failed` one."""
    await scene.until(lambda: scene.scheduler is not failed)


def failing(point: FaultPoint, *, times: int) -> Callable[[Broken], Strike]:
    """Make a fault that strikes while the second chat is loaded.

    times: number of consecutive schedulers that fail.
    """

    async def strike(scene: Scene, number: int, task: "asyncio.Task[Answer]") -> None:
        if number != 1:
            return
        await loading(scene, task)
        for _ in range(times):
            fail_once(*point(scene))
            await succeeded(scene, scene.scheduler)

    return lambda _: strike


@pytest.mark.parametrize(
    ("name", "point", "times"),
    [
        ("the scheduler fails during a load", in_scheduler, 1),
        ("the tiers fail during a load", in_tiers, 1),
        ("three schedulers fail one after the other", in_scheduler, 3),
    ],
)
async def test_engine_defect_costs_only_time(
    name: str, point: FaultPoint, times: int, model_path: Path, tmp_path: Path, table: Table
) -> None:
    # No limit on the gaps: the streams wait while a new scheduler restores them.
    outcome = await check_fault(name, model_path, tmp_path, table, failing(point, times=times), most_gap_ratio=math.inf)
    assert all(len(answer) == ANSWER for answer in outcome.answers)
