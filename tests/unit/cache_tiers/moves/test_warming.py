"""Warming: prefetching a queued request's blocks from Redis into host memory."""

import pytest

from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.moves.fetches import Fetches
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.moves.warming import Warming
from cache_tiers.owners.block_key import BlockKey, owner_of
from cache_tiers.owners.owners import Owners
from engine.request.request import Request, RequestStatus
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import BelievedCost, expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig

PROMPT = [1, 2, 3, 4] * 8
NEAR, FAR = LinkSpeed(0.001, 1000.0), LinkSpeed(0.3, 1000.0)


def busy_rig(*, speed: LinkSpeed = NEAR, capacity: int = 64, latency: int = 2, max_window: int = 8) -> Rig:
    """Build a rig with one running request and room for no other. Redis has all blocks of PROMPT."""
    store = ToyStore(capacity=64)
    first = Rig(max_tokens_per_step=64, store=store)
    first.add(PROMPT)
    first.run()
    there = ToyStore(capacity=capacity, redis=dict(store.redis), latency=latency, speed=speed, max_window=max_window)
    prefill = BelievedCost()
    rig = Rig(max_tokens_per_step=64, max_num_seqs=1, store=there, prefill=prefill, pool_blocks=64)
    rig.add([50, 51, 52], max_tokens=60)
    rig.step()
    prefill.token_seconds = 0.05
    return rig


def steps(rig: Rig, count: int) -> None:
    for _ in range(count):
        rig.step()
        assert_no_leaks(rig.scheduler)


def in_cpu(rig: Rig, request: Request) -> int:
    assert rig.store is not None
    return sum(key in rig.store.ready for key in request.block_keys)


@pytest.mark.parametrize("speed", [NEAR, FAR])
def test_waiting_request_finds_its_prefix_in_host_memory(speed: LinkSpeed) -> None:
    rig = busy_rig(speed=speed)
    request = rig.add([*PROMPT, 9])
    steps(rig, 20)
    assert request.status is RequestStatus.WAITING
    assert in_cpu(rig, request) == 8
    rig.run()
    assert request.receipt is not None
    assert (request.receipt.reused["redis"], request.receipt.reused["cpu"]) == (8 * BLOCK, 0), (
        "the blocks must count as loaded from Redis for this request"
    )
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_turn_during_warming_fetches_only_the_rest() -> None:
    rig = busy_rig(latency=6, max_window=3)
    assert rig.store is not None
    request = rig.add([*PROMPT, 9])
    rig.scheduler.finish_request(rig.requests[0].request_id, "abort")
    rig.scheduler.schedule()
    assert request.status is RequestStatus.LOADING
    asked = [key for pending in rig.store.pending.values() for key in pending.keys]
    assert len(asked) == len(set(asked)) == 8
    rig.run()
    assert request.receipt is not None
    assert request.receipt.reused["redis"] == 8 * BLOCK


def test_window_whose_blocks_came_another_way_is_released() -> None:
    rig = busy_rig(latency=6)
    assert rig.store is not None
    assert rig.tiers is not None
    request = rig.add([*PROMPT, 9])
    for key in request.block_keys:
        assert rig.store._fetch(key)
    rig.scheduler.finish_request(rig.requests[0].request_id, "abort")
    rig.run()
    for _ in range(10):
        rig.tiers.poll()
    assert not rig.store.pending, "the result of a window was never collected"
    assert not any(rig.store.locks.values())
    assert_no_leaks(rig.scheduler)


def test_warming_follows_arrival_and_takes_half_of_host_memory() -> None:
    rig = busy_rig(capacity=12)
    first, second = rig.add([*PROMPT, 9]), rig.add([*PROMPT[:-BLOCK], 9, 9, 9, 9, 9])
    steps(rig, 20)
    assert in_cpu(rig, first) == 6
    assert in_cpu(rig, second) == 6, "the chats share their prefix"
    rig.run()
    for request in (first, second):
        assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


@pytest.mark.parametrize("num_steps", range(6))
def test_abort_while_waiting_leaves_no_fetch_behind(num_steps: int) -> None:
    rig = busy_rig(latency=3)
    request = rig.add([*PROMPT, 9])
    steps(rig, num_steps)
    rig.scheduler.finish_request(request.request_id, "abort")
    rig.run()
    assert rig.tiers is not None
    for _ in range(5):
        rig.tiers.poll()
    assert rig.tiers.next_poll_seconds() is None
    assert_no_leaks(rig.scheduler)


def test_tiers_receive_used_blocks_and_number_of_hits() -> None:
    rig = Rig(max_tokens_per_step=64, store=ToyStore(capacity=64))
    assert rig.store is not None
    first = rig.add(PROMPT)
    first.num_marked = len(PROMPT) - 1
    rig.run()
    second = rig.add([*PROMPT, *first.output_token_ids, 7, 7])
    rig.run()
    (chain, found, marked), (longer, found_again, unmarked) = rig.store.uses
    assert (list(chain), found, marked, unmarked) == (first.block_keys[:8], 0, range(7), range(0))
    assert longer[:8] == chain
    assert list(longer) == second.block_keys[: len(longer)]
    assert found_again == 8


def test_flood_leaves_other_tenant_its_share_of_warming() -> None:
    quiet, flood = ([BlockKey(bytes([owner] * 8) + bytes([at] * 24)) for at in range(40)] for owner in (1, 2))
    store = ToyStore(capacity=64, redis={key: [0] * BLOCK for key in (*quiet, *flood)})
    fetches = Fetches(store, clock=lambda: 0.0)
    warming = Warming(store, fetches, LoadCost(1), Owners(), most_blocks=16)
    for number in range(5):
        warming.begin(f"flood{number}", flood[8 * number : 8 * number + 8])
    for _ in range(20):
        warming.advance()
    assert sum(key in store.ready for key in flood) == 16, "a single tenant may use the whole tier"
    warming.begin("quiet", quiet)
    for _ in range(20):
        warming.advance()
    assert sum(key in store.ready for key in quiet) == 8
    for load_id in ("quiet", *(f"flood{number}" for number in range(5))):
        warming.end(load_id)
    fetches.poll_late()
    warming.begin("again", quiet)
    assert warming._room(owner_of(quiet[0])) == 16
