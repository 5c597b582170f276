"""Several answers to one prompt, which is computed and stored once."""

from collections import deque

import pytest

from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.unit.scheduling_rig import BLOCK, Rig, are_right

PROMPT = [1, 2, 3, 4] * 5


def blocks_of(num_tokens: int) -> int:
    return -(-num_tokens // BLOCK)


def computed(requests: list[Request]) -> list[int]:
    return [request.receipt.computed for request in requests if request.receipt is not None]


@pytest.mark.parametrize("rest", range(BLOCK))
@pytest.mark.parametrize("prefix_cache", [True, False])
def test_blocks_hold_prompt_once_and_each_answers_own_tokens(rest: int, prefix_cache: bool) -> None:
    rig = Rig(max_tokens_per_step=8, pool_blocks=64, max_num_seqs=8, prefix_cache=prefix_cache)
    prompt = [*PROMPT, *range(10, 10 + rest)]
    answers = rig.add_answers(prompt, 5, max_tokens=11)
    # Each answer computes the last token of the prompt itself, in a separate block.
    shared = (len(prompt) - 1) // BLOCK
    while any(answer.status is not RequestStatus.FINISHED for answer in answers):
        rig.step()
        running = [answer for answer in answers if answer.status is RequestStatus.RUNNING]
        if len(running) == 5:
            own = sum(blocks_of(answer.num_computed_tokens) - shared for answer in running)
            assert rig.pool.num_used == shared + own
    assert computed(answers) == [len(prompt), 1, 1, 1, 1]
    assert are_right(answers)
    assert len({tuple(answer.output_token_ids) for answer in answers}) == 5
    assert rig.pool.num_used == 0


@pytest.mark.parametrize("prefix_cache", [True, False])
@pytest.mark.parametrize(("max_num_seqs", "max_tokens"), [(1, 1), (1, 9), (2, 9), (8, 1)])
def test_later_answer_takes_over_prompt_of_ended_first(prefix_cache: bool, max_num_seqs: int, max_tokens: int) -> None:
    rig = Rig(max_num_seqs=max_num_seqs, prefix_cache=prefix_cache, pool_blocks=64)
    answers = rig.add_answers([*PROMPT, 5, 6], 4, max_tokens)
    rig.run()
    assert computed(answers) == [len(PROMPT) + 2, 1, 1, 1]
    assert are_right(answers)
    # The first answer filled the block and published it. No other answer wrote into it.
    again = rig.add([*PROMPT, 5, 6, *answers[0].output_token_ids, 7])
    rig.run()
    assert are_right([again])
    assert rig.pool.num_used == 0


def test_answers_without_keep_kv_share_the_prompt() -> None:
    rig = Rig()
    answers = rig.add_answers([*PROMPT, 5, 6], 3, keep_kv=False)
    rig.run()
    assert computed(answers) == [len(PROMPT) + 2, 1, 1]
    assert rig.pool.num_cached == 0


def test_other_requests_run_while_prompt_is_computed() -> None:
    rig = Rig(max_tokens_per_step=8)
    answers = rig.add_answers(PROMPT, 3)
    rig.step()
    rig.step()
    assert [each.status for each in answers] == [RequestStatus.RUNNING, *[RequestStatus.WAITING_FOR_PREFIX] * 2]
    other = rig.add([7, 8, 9])
    rig.run()
    assert are_right([*answers, other])


@pytest.mark.parametrize("steps", range(8))
@pytest.mark.parametrize("which", [[0], [1], [0, 1], [0, 1, 2]])
def test_aborted_answers_free_their_blocks_and_others_continue(steps: int, which: list[int]) -> None:
    rig = Rig(max_tokens_per_step=8, max_num_seqs=2, prefix_cache=steps % 2 == 0)
    answers = rig.add_answers([*PROMPT, 5], 3, max_tokens=6)
    for _ in range(steps):
        rig.step()
    gone = [answers[index] for index in which]
    for answer in gone:
        rig.scheduler.finish_request(answer.request_id, "abort")
        assert_no_leaks(rig.scheduler)
    rig.run()
    assert are_right([answer for answer in answers if answer not in gone])
    assert rig.pool.num_used == 0


def test_failed_step_leaves_prompt_to_other_answers() -> None:
    rig = Rig(max_tokens_per_step=32)
    answers = rig.add_answers(PROMPT, 3)
    step, _ = rig.begin()
    assert rig.scheduler.fail_step(step) == answers[:1]
    rig.run()
    assert are_right(answers[1:])
    assert computed(answers[1:]) == [len(PROMPT), 1]


def test_blocks_of_waiting_answer_go_to_running_request() -> None:
    rig = Rig(pool_blocks=16, max_num_seqs=2, max_tokens_per_step=32, prefix_cache=False)
    long, first, other = rig.add([9], 40), rig.add(PROMPT, 1), rig.add([8], 40)
    fork = first.fork("fork", 1, None)
    rig.scheduler.add_request(fork)
    while not first.output_token_ids:
        rig.step()
    assert fork.has_prompt
    rig.run()
    assert are_right([long, first, other, fork])
    assert rig.scheduler.num_reclaims == 1
    assert computed([fork]) == [len(PROMPT)]


def test_answers_are_the_same_after_preemption() -> None:
    rig = Rig(pool_blocks=10, max_num_seqs=8, max_tokens_per_step=32)
    answers = rig.add_answers([*PROMPT, 5], 4, max_tokens=14)
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    assert are_right(answers)


def test_prompt_is_loaded_from_tiers_once() -> None:
    rig = Rig(store=ToyStore(64, latency=2), max_tokens_per_step=32)
    rig.add(PROMPT, 1)
    rig.run()
    for _ in range(20):
        output = rig.scheduler.schedule()
        if output is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
    rig.pool.forget_free()
    answers = rig.add_answers(PROMPT, 3)
    rig.run()
    receipts = [answer.receipt for answer in answers if answer.receipt is not None]
    assert [receipt.reused["cpu"] for receipt in receipts] == [len(PROMPT) - 1, 0, 0]
    assert [receipt.computed for receipt in receipts] == [1, 1, 1]
    assert are_right(answers)


def test_second_copy_into_same_block_leaks_nothing() -> None:
    rig = Rig(max_tokens_per_step=4)
    ended = rig.add_answers([1, 2], 2, max_tokens=2, keep_kv=False)[1]
    others = rig.add_answers([3] * 6, 2, max_tokens=2, keep_kv=False)
    ahead = deque[tuple[SchedulerOutput, ModelRunnerOutput]]()
    while ahead or rig.scheduler.has_unfinished_requests():
        if (output := rig.scheduler.schedule()) is not None:
            ahead.append((output, rig.worker.execute(output)))
        if output is None or len(ahead) == 3:
            rig.scheduler.update(*ahead.popleft())
        if ended.status is RequestStatus.RUNNING:
            rig.scheduler.finish_request(ended.request_id, "abort")
        assert_no_leaks(rig.scheduler)
    assert are_right(others)
