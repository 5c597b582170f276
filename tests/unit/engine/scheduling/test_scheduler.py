from functools import partial

import pytest

from engine.api.errors import OverloadedError
from engine.request.request import Request
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig


def test_long_prompt_is_computed_in_chunks() -> None:
    rig = Rig(max_tokens_per_step=8)
    request = rig.add(range(20), max_tokens=1)
    counts = []
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        counts.append(output.num_scheduled_tokens[request.request_id])
    assert counts == [8, 8, 4]
    assert rig.scheduler.num_prefilled == 20
    assert request.output_token_ids == expected_output(range(20), request.sampling, VOCAB)


def test_prompt_without_an_answer_ends_with_its_blocks_kept() -> None:
    rig = Rig(max_tokens_per_step=8, decode_passes=4)
    alone = rig.add(range(20), max_tokens=0)
    updates = []
    while rig.scheduler.has_unfinished_requests():
        updates += rig.step()[1]
    assert [(each.token_id, each.finish_reason) for each in updates] == [(None, "length")]
    assert alone.output_token_ids == []
    following = rig.add(range(20), max_tokens=2)
    output, _ = rig.step()
    assert output.num_scheduled_tokens == {following.request_id: 1}, "a prompt's last token is always computed"


def test_decodes_precede_chunk_of_long_prompt() -> None:
    rig = Rig(max_tokens_per_step=8)
    talking = rig.add(range(4), max_tokens=10)
    rig.step()
    long = rig.add(range(10, 40))
    output, _ = rig.step()
    assert dict(output.num_scheduled_tokens) == {talking.request_id: 1, long.request_id: 7}


def test_prompts_with_logprobs_share_a_bounded_part_of_a_step() -> None:
    rig = Rig(max_num_seqs=16, max_tokens_per_step=2048, pool_blocks=1024)
    alone = rig.add(range(200), prompt_logprobs=0)
    assert rig.step()[0].num_scheduled_tokens[alone.request_id] == 64
    others = [rig.add(range(start, start + 200), prompt_logprobs=0) for start in range(1, 8)]
    plain = rig.add(range(100, 300))
    counts = rig.step()[0].num_scheduled_tokens
    assert [counts[each.request_id] for each in (alone, *others)] == [16] * 8
    assert counts[plain.request_id] == 200


def test_step_never_exceeds_token_and_sequence_limits() -> None:
    rig = Rig(max_num_seqs=3, max_tokens_per_step=8, pool_blocks=64)
    for start in range(6):
        rig.add(range(start, start + 9))
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        assert output.total_tokens <= 8
        assert len(output.num_scheduled_tokens) <= 3


def test_request_is_notified_in_the_step_that_admits_it() -> None:
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


def test_result_may_arrive_after_next_step_is_scheduled() -> None:
    rig = Rig()
    request = rig.add(range(6), max_tokens=5)
    in_flight = [rig.begin(), rig.begin()]
    while in_flight:
        rig.scheduler.update(*in_flight.pop(0))
        output = rig.scheduler.schedule()
        if output is not None:
            in_flight.append((output, rig.worker.execute(output)))
    assert request.output_token_ids == expected_output(range(6), request.sampling, VOCAB)
    assert_no_leaks(rig.scheduler)


def test_request_ended_during_next_step_frees_blocks_once() -> None:
    rig = Rig()
    request = rig.add(range(6), max_tokens=8)
    first, second = rig.begin(), rig.begin()
    rig.scheduler.update(*first)
    rig.scheduler.finish_request(request.request_id, "stop")
    assert rig.scheduler.update(*second) == []
    assert_no_leaks(rig.scheduler)
    assert rig.pool.num_used == 0


def test_preempted_request_loses_no_token() -> None:
    rig = Rig(pool_blocks=6, max_tokens_per_step=64)
    requests = [rig.add(range(start, start + 8), max_tokens=12) for start in (0, 20)]
    rig.run()
    assert rig.scheduler.num_preemptions > 0
    for request in requests:
        assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_second_turn_computes_only_new_tokens() -> None:
    rig = Rig()
    first = rig.add(range(10), max_tokens=4)
    rig.run()
    history = [*range(10), *first.output_token_ids]
    second = rig.add([*history, 7, 8, 9])
    rig.run()
    assert second.receipt is not None
    assert second.receipt.reused["device"] == 13
    assert second.receipt.computed == 17 - 13
    assert rig.scheduler.num_prefilled == 10 + 4, "answer tokens must not count as prompt tokens"
    assert second.output_token_ids == expected_output(second.prompt_token_ids, second.sampling, VOCAB)


def test_diverging_turn_reuses_only_common_prefix() -> None:
    rig = Rig()
    rig.add(range(11), max_tokens=1)
    rig.run()
    other = rig.add([*range(10), 40, 41], max_tokens=2)
    rig.run()
    assert other.receipt is not None
    assert other.receipt.reused["device"] == 10
    assert other.output_token_ids == expected_output(other.prompt_token_ids, other.sampling, VOCAB)


def test_chats_that_diverge_within_a_block_are_all_found() -> None:
    rig = Rig()
    openings = [[1, 2, 30], [1, 2, 31], [1, 2, 32]]
    for opening in openings:
        rig.add(opening, max_tokens=1)
        rig.run()
    for opening in openings:
        turn = rig.add([*opening, 7], max_tokens=1)
        rig.run()
        assert turn.receipt is not None
        assert (turn.receipt.reused["device"], turn.receipt.computed) == (3, 1)


def test_two_turns_after_one_do_not_share_partial_block() -> None:
    rig = Rig()
    rig.add(range(11), max_tokens=1)
    rig.run()
    turns = [rig.add([*range(11), token], max_tokens=3) for token in (40, 41)]
    rig.run()
    for turn in turns:
        assert turn.output_token_ids == expected_output(turn.prompt_token_ids, turn.sampling, VOCAB)


def test_full_hit_computes_only_last_token() -> None:
    rig = Rig()
    rig.add(range(2 * BLOCK), max_tokens=1)
    rig.run()
    again = rig.add(range(2 * BLOCK), max_tokens=1)
    output, _ = rig.step()
    assert output.total_tokens == 1
    assert again.receipt is not None
    assert again.receipt.reused["device"] == 2 * BLOCK - 1
    rig.run()
    assert again.output_token_ids == expected_output(again.prompt_token_ids, again.sampling, VOCAB)


def test_full_hit_in_lower_tier_computes_only_last_token() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(16), max_tokens=1)
    rig.run()
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis))
    again = restarted.add(range(16), max_tokens=1)
    restarted.run()
    assert again.receipt is not None
    assert (again.receipt.reused["redis"], again.receipt.computed) == (15, 1)
    assert again.output_token_ids == expected_output(again.prompt_token_ids, again.sampling, VOCAB)


def test_abort_frees_blocks_for_the_next_step() -> None:
    rig = Rig(pool_blocks=4, max_tokens_per_step=64)
    rig.add(range(15), max_tokens=1)
    big = rig.add(range(20, 35), max_tokens=1)
    victim = next(iter(rig.begin()[0].num_scheduled_tokens))
    rig.scheduler.finish_request(victim, "abort")
    output = rig.scheduler.schedule()
    assert output is not None
    assert output.num_scheduled_tokens == {big.request_id: 15}
    assert output.dropped_request_ids == (victim,)


def test_full_queue_rejects_request() -> None:
    rig = Rig(max_waiting=2)
    rig.add([1])
    rig.add([2])
    with pytest.raises(OverloadedError, match="2 requests are already waiting"):
        rig.add([3])


def fill_device(rig: Rig) -> None:
    """Compute a prompt that evicts all other blocks from a pool of 8."""
    rig.add(range(100, 131), max_tokens=1)
    rig.run()


def answered_and_evicted(max_tokens: int) -> tuple[Rig, Request]:
    """Answer range(16), then evict its blocks from the device, so that only the lower tiers have them."""
    rig = Rig(pool_blocks=8, max_tokens_per_step=64, store=ToyStore(capacity=32))
    request = rig.add(range(16), max_tokens=max_tokens)
    rig.run()
    fill_device(rig)
    return rig, request


def test_evicted_prefix_is_loaded_from_lower_tier() -> None:
    rig, first = answered_and_evicted(max_tokens=1)
    second = rig.add([*range(16), *first.output_token_ids, 5, 6], max_tokens=2)
    rig.run()
    assert second.receipt is not None
    assert (second.receipt.reused["device"], second.receipt.reused["cpu"], second.receipt.computed) == (0, 16, 3)


def test_evicted_turn_is_loaded_with_its_partial_block() -> None:
    rig, first = answered_and_evicted(max_tokens=4)
    second = rig.add([*range(16), *first.output_token_ids, 5, 6], max_tokens=2)
    rig.run()
    assert second.receipt is not None
    assert (second.receipt.reused["device"], second.receipt.reused["cpu"], second.receipt.computed) == (0, 19, 3)
    assert second.output_token_ids == expected_output(second.prompt_token_ids, second.sampling, VOCAB)


def test_receipt_counts_only_filled_tokens_of_partial_block() -> None:
    rig = Rig(store=ToyStore(64))
    first = rig.add(range(16), max_tokens=4)
    rig.run()
    rig.pool.erase([block.key for block in rig.pool._blocks if block.partial_of is not None and block.key is not None])
    second = rig.add([*range(16), *first.output_token_ids, 5, 6], max_tokens=2)
    rig.run()
    assert second.receipt is not None
    assert (second.receipt.reused["device"], second.receipt.reused["cpu"], second.receipt.computed) == (16, 3, 3)


def test_partial_block_in_lower_tier_is_reused_up_to_divergence() -> None:
    rig, first = answered_and_evicted(max_tokens=4)
    other = rig.add([*range(16), *first.output_token_ids[:2], 49, 48, 47], max_tokens=2)
    rig.run()
    assert other.receipt is not None
    assert (other.receipt.reused["cpu"], other.receipt.computed) == (18, 3)
    assert other.output_token_ids == expected_output(other.prompt_token_ids, other.sampling, VOCAB)


def test_full_block_replaces_its_partial_block_in_lower_tier() -> None:
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
    assert (third.receipt.reused["cpu"], third.receipt.computed) == (24, 2)
    assert third.output_token_ids == expected_output(third.prompt_token_ids, third.sampling, VOCAB)


def test_prefix_is_loaded_from_redis_after_restart() -> None:
    store = ToyStore(capacity=32)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(17), max_tokens=1)
    rig.run()
    restarted = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32, redis=store.redis, latency=3))
    second = restarted.add(range(17), max_tokens=1)
    restarted.run()
    assert second.receipt is not None
    assert (second.receipt.reused["redis"], second.receipt.computed) == (16, 1)


def test_loading_request_does_not_block_others() -> None:
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


def test_late_load_is_replaced_by_computing() -> None:
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


def test_turn_reuses_partial_block_that_is_being_stored() -> None:
    rig = Rig(store=ToyStore(16))
    first = rig.add(range(BLOCK + 3), max_tokens=1)
    rig.step()
    rig.step()
    storing, stored = rig.begin()
    assert [block.partial_of is not None for block in rig.pool._blocks if block.ref_count] == [True]

    going_on = rig.add([*first.prompt_token_ids, *first.output_token_ids, 7], max_tokens=1)
    going, gone = rig.begin()
    rig.scheduler.update(storing, stored)
    rig.scheduler.update(going, gone)
    assert_no_leaks(rig.scheduler)
    assert going_on.receipt is not None
    assert (going_on.receipt.reused["device"], going_on.receipt.computed) == (BLOCK + 3, 2)


def test_abort_during_load_keeps_blocks_until_copies_end() -> None:
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
    assert_no_leaks(restarted.scheduler)


def test_refused_store_is_retried_while_block_is_on_device() -> None:
    store = ToyStore(capacity=32, refuses=True)
    rig = Rig(max_tokens_per_step=64, store=store)
    rig.add(range(16), max_tokens=1)
    rig.run()
    assert rig.tiers is not None
    assert rig.tiers.stores.num_unstored == 4
    rig.now += 1.0
    # The time for the next attempt has come, but the tier is full until a block fits.
    was_full = rig.tiers.stores.is_refused
    store.refuses = False
    rig.step()
    assert (was_full, rig.tiers.stores.is_refused) == (True, False)
    assert rig.tiers.stores.num_unstored == 0
    assert len(store.redis) == 4


def test_stores_pause_after_an_answer() -> None:
    rig = Rig(max_tokens_per_step=64, store=ToyStore(capacity=32), rest=0.5)
    rig.add(range(16), max_tokens=1)
    rig.run()
    assert rig.tiers is not None
    assert rig.tiers.stores.num_unstored == 4
    assert rig.scheduler.schedule() is None
    assert rig.tiers.has_copies
    assert rig.tiers.next_poll_seconds() == 0.5
    again = rig.add(range(16), max_tokens=1)
    output, _ = rig.step()
    assert (output.total_tokens, output.stores) == (1, ())
    assert again.receipt is not None
    rig.now += 0.5
    assert len(rig.step()[0].stores) + len(rig.step()[0].stores) == 4


def test_blocks_filled_together_are_stored_one_per_step() -> None:
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


def test_failed_step_ends_its_requests_and_frees_blocks() -> None:
    rig = Rig(store=ToyStore(capacity=32))
    request = rig.add(range(3))
    output = rig.scheduler.schedule()
    assert output is not None
    assert rig.scheduler.fail_step(output) == [request]
    assert request.finish_reason == "error"
    assert_no_leaks(rig.scheduler)
    assert rig.pool.num_used == 0
