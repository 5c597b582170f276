from functools import partial

import pytest

from engine.errors import OverloadedError
from engine.request import Request
from tests.model.toys import ToyStore, expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig


def test_a_prompt_larger_than_the_step_is_computed_in_chunks() -> None:
    rig = Rig(max_tokens_per_step=8)
    request = rig.add(range(20), max_tokens=1)
    counts = []
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        counts.append(output.num_scheduled_tokens[request.request_id])
    assert counts == [8, 8, 4]
    assert rig.scheduler.num_prefilled == 20
    assert request.output_token_ids == expected_output(range(20), request.sampling, VOCAB)


def test_decodes_are_served_before_the_chunk_of_a_long_prompt() -> None:
    rig = Rig(max_tokens_per_step=8)
    talking = rig.add(range(4), max_tokens=10)
    rig.step()
    long = rig.add(range(10, 40))
    output, _ = rig.step()
    assert dict(output.num_scheduled_tokens) == {talking.request_id: 1, long.request_id: 7}


def test_never_more_tokens_or_sequences_in_a_step_than_allowed() -> None:
    rig = Rig(max_num_seqs=3, max_tokens_per_step=8, pool_blocks=64)
    for start in range(6):
        rig.add(range(start, start + 9))
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        assert output.total_tokens <= 8
        assert len(output.num_scheduled_tokens) <= 3


def test_request_is_notified_in_the_step_that_gives_its_place() -> None:
    rig = Rig(max_num_seqs=1)
    first, second = rig.add(range(4), max_tokens=2), rig.add(range(10, 14), max_tokens=2)
    placed: list[str] = []
    for request in (first, second):
        request.on_place = partial(placed.append, request.request_id)
    rig.step()
    assert placed == [first.request_id]
    while rig.scheduler.has_unfinished_requests():
        rig.step()
    assert placed == [first.request_id, second.request_id]


def test_the_result_of_a_step_may_come_after_the_next_one_was_scheduled() -> None:
    rig = Rig()
    request = rig.add(range(6), max_tokens=5)
    in_flight = [rig.begin(), rig.begin()]
    while in_flight:
        rig.scheduler.update(*in_flight.pop(0))
        output = rig.scheduler.schedule()
        if output is not None:
            in_flight.append((output, rig.worker.execute(output)))
    assert request.output_token_ids == expected_output(range(6), request.sampling, VOCAB)
    rig.scheduler.check()


def test_a_request_that_ends_while_its_next_step_runs_gives_its_blocks_back_once() -> None:
    rig = Rig()
    request = rig.add(range(6), max_tokens=8)
    first, second = rig.begin(), rig.begin()
    rig.scheduler.update(*first)
    rig.scheduler.finish_request(request.request_id, "stop")
    assert rig.scheduler.update(*second) == []
    rig.scheduler.check()
    assert rig.pool.num_used == 0


def test_when_blocks_run_out_a_request_is_preempted_and_loses_nothing() -> None:
    rig = Rig(pool_blocks=6, max_tokens_per_step=64)
    requests = [rig.add(range(start, start + 8), max_tokens=12) for start in (0, 20)]
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    for request in requests:
        assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_a_second_turn_computes_only_what_is_new() -> None:
    rig = Rig()
    first = rig.add(range(10), max_tokens=4)
    rig.run()
    history = [*range(10), *first.output_token_ids]
    second = rig.add([*history, 7, 8, 9])
    rig.run()
    assert second.receipt is not None
    assert second.receipt.device == 13
    assert second.receipt.computed == 17 - 13
    assert rig.scheduler.num_prefilled == 10 + 4, "tokens of answers are none of the prompt's"
    assert second.output_token_ids == expected_output(second.prompt_token_ids, second.sampling, VOCAB)


def test_of_a_turn_that_leaves_the_former_one_only_the_common_beginning_is_kept() -> None:
    rig = Rig()
    rig.add(range(11), max_tokens=1)
    rig.run()
    other = rig.add([*range(10), 40, 41], max_tokens=2)
    rig.run()
    assert other.receipt is not None
    assert other.receipt.device == 10
    assert other.output_token_ids == expected_output(other.prompt_token_ids, other.sampling, VOCAB)


def test_chats_that_begin_alike_and_part_within_a_block_are_each_found_again() -> None:
    rig = Rig()
    openings = [[1, 2, 30], [1, 2, 31], [1, 2, 32]]
    for opening in openings:
        rig.add(opening, max_tokens=1)
        rig.run()
    for opening in openings:
        turn = rig.add([*opening, 7], max_tokens=1)
        rig.run()
        assert turn.receipt is not None
        assert (turn.receipt.device, turn.receipt.computed) == (3, 1)


def test_two_turns_that_follow_one_do_not_write_into_the_same_block() -> None:
    rig = Rig()
    rig.add(range(11), max_tokens=1)
    rig.run()
    turns = [rig.add([*range(11), token], max_tokens=3) for token in (40, 41)]
    rig.run()
    for turn in turns:
        assert turn.output_token_ids == expected_output(turn.prompt_token_ids, turn.sampling, VOCAB)


def test_of_a_prompt_that_is_known_completely_the_last_token_alone_is_computed() -> None:
    rig = Rig()
    rig.add(range(2 * BLOCK), max_tokens=1)
    rig.run()
    again = rig.add(range(2 * BLOCK), max_tokens=1)
    output, _ = rig.step()
    assert output.total_tokens == 1
    assert again.receipt is not None
    assert again.receipt.device == 2 * BLOCK - 1
    rig.run()
    assert again.output_token_ids == expected_output(again.prompt_token_ids, again.sampling, VOCAB)


def test_of_a_prompt_that_is_known_completely_below_the_last_token_alone_is_computed() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(16), max_tokens=1)
    rig.run()
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis))
    again = restarted.add(range(16), max_tokens=1)
    restarted.run()
    assert again.receipt is not None
    assert (again.receipt.redis, again.receipt.computed) == (15, 1)
    assert again.output_token_ids == expected_output(again.prompt_token_ids, again.sampling, VOCAB)


def test_an_abort_frees_the_blocks_for_the_very_next_step() -> None:
    rig = Rig(pool_blocks=4, max_tokens_per_step=64)
    rig.add(range(15), max_tokens=1)
    big = rig.add(range(20, 35), max_tokens=1)
    victim = next(iter(rig.begin()[0].num_scheduled_tokens))
    rig.scheduler.finish_request(victim, "abort")
    output = rig.scheduler.schedule()
    assert output is not None
    assert output.num_scheduled_tokens == {big.request_id: 15}
    assert output.dropped_request_ids == (victim,)


def test_a_full_queue_refuses() -> None:
    rig = Rig(max_waiting=2)
    rig.add([1])
    rig.add([2])
    with pytest.raises(OverloadedError, match="2 requests are already waiting"):
        rig.add([3])


def fill_device(rig: Rig) -> None:
    """Compute another prompt, for which a pool of 8 blocks has to give up all others."""
    rig.add(range(100, 131), max_tokens=1)
    rig.run()


def answered_and_evicted(max_tokens: int) -> tuple[Rig, Request]:
    """An answer to range(16) whose blocks lie below the device only."""
    rig = Rig(pool_blocks=8, max_tokens_per_step=64, store=ToyStore(capacity=32))
    request = rig.add(range(16), max_tokens=max_tokens)
    rig.run()
    fill_device(rig)
    return rig, request


def test_a_prefix_that_left_the_device_comes_back_from_below_and_is_not_computed() -> None:
    rig, first = answered_and_evicted(max_tokens=1)
    second = rig.add([*range(16), *first.output_token_ids, 5, 6], max_tokens=2)
    rig.run()
    assert second.receipt is not None
    assert (second.receipt.device, second.receipt.cpu, second.receipt.computed) == (0, 16, 3)


def test_a_turn_that_left_the_device_comes_back_with_its_partly_filled_block() -> None:
    rig, first = answered_and_evicted(max_tokens=4)
    second = rig.add([*range(16), *first.output_token_ids, 5, 6], max_tokens=2)
    rig.run()
    assert second.receipt is not None
    assert (second.receipt.device, second.receipt.cpu, second.receipt.computed) == (0, 19, 3)
    assert second.output_token_ids == expected_output(second.prompt_token_ids, second.sampling, VOCAB)


def test_a_receipt_counts_of_a_partly_filled_block_what_it_holds() -> None:
    rig = Rig(store=ToyStore(64))
    first = rig.add(range(16), max_tokens=4)
    rig.run()
    rig.pool.erase([block.key for block in rig.pool._blocks if block.tail_of is not None and block.key is not None])
    second = rig.add([*range(16), *first.output_token_ids, 5, 6], max_tokens=2)
    rig.run()
    assert second.receipt is not None
    assert (second.receipt.device, second.receipt.cpu, second.receipt.computed) == (16, 3, 3)


def test_of_a_partly_filled_block_below_only_the_common_beginning_is_kept() -> None:
    rig, first = answered_and_evicted(max_tokens=4)
    other = rig.add([*range(16), *first.output_token_ids[:2], 49, 48, 47], max_tokens=2)
    rig.run()
    assert other.receipt is not None
    assert (other.receipt.cpu, other.receipt.computed) == (18, 3)
    assert other.output_token_ids == expected_output(other.prompt_token_ids, other.sampling, VOCAB)


def test_a_block_that_became_full_is_found_in_place_of_what_it_was() -> None:
    rig = Rig(pool_blocks=8, max_tokens_per_step=64, store=ToyStore(capacity=32))
    first = rig.add(range(16), max_tokens=4)
    rig.run()
    history = [*range(16), *first.output_token_ids]
    second = rig.add([*history, 5], max_tokens=4)
    rig.run()
    fill_device(rig)
    third = rig.add([*history, 5, *second.output_token_ids, 9], max_tokens=1)
    rig.run()
    assert third.receipt is not None
    assert (third.receipt.cpu, third.receipt.computed) == (24, 2)
    assert third.output_token_ids == expected_output(third.prompt_token_ids, third.sampling, VOCAB)


def test_after_a_restart_the_prefix_comes_from_redis() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(17), max_tokens=1)
    rig.run()
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis, latency=3))
    second = restarted.add(range(17), max_tokens=1)
    restarted.run()
    assert second.receipt is not None
    assert (second.receipt.redis, second.receipt.computed) == (16, 1)


def test_while_one_request_loads_the_others_go_on() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(17), max_tokens=1)
    rig.run()
    store.latency = 50
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis, latency=50))
    loading = restarted.add(range(17), max_tokens=1)
    other = restarted.add([1, 2, 3], max_tokens=3)
    for _ in range(3):
        restarted.step()
    assert restarted.scheduler.num_loading == 1
    assert len(other.output_token_ids) == 3
    assert not loading.output_token_ids


def test_a_load_that_is_late_ends_as_computing() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(17), max_tokens=1)
    rig.run()
    slow = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis, latency=10**9))
    request = slow.add(range(17), max_tokens=1)
    assert slow.scheduler.schedule() is None
    slow.now = 1.5
    slow.step()
    assert request.receipt is not None
    assert request.receipt.computed == 17
    assert request.output_token_ids == expected_output(range(17), request.sampling, VOCAB)


def test_who_goes_on_while_the_last_block_is_being_stored_computes_none_of_it_again() -> None:
    rig = Rig(store=ToyStore(16))
    first = rig.add(range(BLOCK + 3), max_tokens=1)
    rig.step()
    rig.step()
    storing, stored = rig.begin()
    assert [block.tail_of is not None for block in rig.pool._blocks if block.ref_count] == [True]

    going_on = rig.add([*first.prompt_token_ids, *first.output_token_ids, 7], max_tokens=1)
    going, gone = rig.begin()
    rig.scheduler.update(storing, stored)
    rig.scheduler.update(going, gone)
    rig.scheduler.check()
    assert going_on.receipt is not None
    assert (going_on.receipt.device, going_on.receipt.computed) == (BLOCK + 3, 2)


def test_an_abort_while_loading_keeps_the_blocks_until_the_copies_are_over() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(17), max_tokens=1)
    rig.run()
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis))
    request = restarted.add(range(17), max_tokens=1)
    output = restarted.scheduler.schedule()
    assert output is not None
    assert output.loads
    restarted.scheduler.finish_request(request.request_id, "abort")
    assert restarted.pool.num_used > 0
    restarted.scheduler.update(output, restarted.worker.execute(output))
    restarted.scheduler.schedule()
    assert restarted.pool.num_used == 0
    restarted.scheduler.check()


def test_a_store_that_was_refused_is_tried_again_while_its_block_is_on_the_device() -> None:
    store = ToyStore(capacity=32, refuses=True)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(16), max_tokens=1)
    rig.run()
    assert rig.tiers is not None
    assert rig.tiers.num_unstored == 4
    store.refuses = False
    rig.now += 1.0
    rig.step()
    assert rig.tiers.num_unstored == 0
    assert len(store.redis) == 4


def test_after_an_answer_the_machine_is_left_alone_for_a_moment() -> None:
    rig = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32), rest=0.5)
    rig.add(range(16), max_tokens=1)
    rig.run()
    assert rig.tiers is not None
    assert rig.tiers.num_unstored == 4
    assert rig.scheduler.schedule() is None
    assert rig.tiers.has_copies
    assert rig.tiers.next_poll_seconds() == 0.5
    again = rig.add(range(16), max_tokens=1)
    output, _ = rig.step()
    assert (output.total_tokens, output.stores) == (1, ())
    assert again.receipt is not None
    rig.now += 0.5
    assert len(rig.step()[0].stores) + len(rig.step()[0].stores) == 4


def test_blocks_that_fill_together_while_streams_run_go_down_one_by_one() -> None:
    rig = Rig(max_tokens_per_step=64, pool_blocks=64, store=ToyStore(capacity=64))
    for start in range(4):
        rig.add([start, start, start], max_tokens=12)
    stores = []
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        if output.total_tokens <= 4:
            stores.append(len(output.stores))
    assert sum(stores) >= 4
    assert max(stores[1:]) == 1


def test_a_failed_step_ends_its_requests_and_leaves_nothing_behind() -> None:
    rig = Rig(store=ToyStore(capacity=32))
    request = rig.add(range(3))
    output = rig.scheduler.schedule()
    assert output is not None
    assert rig.scheduler.fail_step(output) == [request]
    assert request.finish_reason == "error"
    rig.scheduler.check()
    assert rig.pool.num_used == 0
