"""Steps that fail before anything was moved, with a copy within the device for a request that has no tokens in them."""

import pytest

from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import SchedulerOutput
from tests.leaks import assert_no_leaks
from tests.unit.scheduling_rig import BLOCK, Rig, are_right


def refused_branch(rig: Rig, *, others: int = 20, answers: int = 1) -> tuple[SchedulerOutput, list[Request]]:
    """Branch a chat within a block, in a refused step that two prompts of `others` tokens take."""
    first = rig.add(range(10), max_tokens=5)
    rig.run()
    history = [*range(10), *first.output_token_ids]
    rig.add([30] * others)
    rig.add([31] * others, priority=-1)
    chat = rig.add_answers([*history[:13], 44], answers)
    output = rig.scheduler.schedule()
    assert output is not None
    assert output.copies
    assert not output.num_scheduled_tokens.keys() & {answer.request_id for answer in chat}
    rig.worker.refuse(output)
    return output, chat


def fail(rig: Rig, output: SchedulerOutput) -> list[Request]:
    failed = rig.scheduler.fail_step(output)
    rig.worker.refused.clear()
    assert_no_leaks(rig.scheduler)
    return failed


@pytest.mark.parametrize("answers", [1, 2])
def test_request_without_tokens_in_refused_step_answers_right(answers: int) -> None:
    rig = Rig(pool_blocks=64)
    output, chat = refused_branch(rig, answers=answers)
    assert {request.request_id for request in fail(rig, output)} == output.num_scheduled_tokens.keys()
    rig.run()
    assert are_right(chat)


def test_step_behind_refused_one_gives_no_token_to_its_branch() -> None:
    rig = Rig(pool_blocks=64)
    output, [chat] = refused_branch(rig, others=5)
    behind, result = rig.begin()
    assert result.sampled_token_ids[chat.request_id]
    fail(rig, output)
    updates = rig.scheduler.update(behind, result)
    assert not any(update.request is chat for update in updates)
    rig.run()
    assert are_right([chat])


def test_branch_that_ends_before_its_copy_leaves_no_block() -> None:
    rig = Rig(pool_blocks=64)
    output, [chat] = refused_branch(rig)
    rig.scheduler.finish_request(chat.request_id, "abort")
    fail(rig, output)
    again = rig.add(chat.prompt_token_ids)
    rig.run()
    assert are_right([again])


def test_heir_of_branch_whose_copy_was_refused_computes_again() -> None:
    rig = Rig(pool_blocks=64, max_num_seqs=3)
    output, [chat, heir] = refused_branch(rig, answers=2)
    rig.scheduler.finish_request(chat.request_id, "abort")
    assert heir.status is RequestStatus.WAITING
    assert len(heir.blocks) == -(-heir.num_shared_tokens // BLOCK)
    fail(rig, output)
    assert not heir.blocks
    rig.run()
    assert are_right([heir])
