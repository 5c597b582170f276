"""The draft of a step, and the memory that it leaves behind."""

import pytest

from engine.kv.block import KVCacheBlock
from engine.scheduling.step_draft import SchedulingBudget, StepDraft
from tests.free_tuples import free_tuples
from tests.unit.scheduling_rig import bare_request


def test_a_scheduled_prompt_leaves_no_tuple_behind(capfd: pytest.CaptureFixture[str]) -> None:
    blocks = [KVCacheBlock(number) for number in range(17)]
    before = free_tuples(len(blocks), capfd)
    for order in range(500):
        request = bare_request(order)
        request.blocks.extend(blocks)
        StepDraft(now=0.0, budget=SchedulingBudget(8, 8, 8), passes=1, step_id=order).add_new(request, 1)
    assert free_tuples(len(blocks), capfd) < before + 50
