"""A tenant that computes faster than its blocks go down waits for its own copies, and no other tenant does."""

from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.moves.stores import STORE_RETRY_SECONDS
from engine.request.request import Request, RequestStatus
from engine.scheduling.admission_order import MAX_HELD_BACK_SECONDS
from tests.model.toy_store import ToyStore
from tests.model.toys import BelievedCost
from tests.unit.scheduling_rig import BLOCK, Rig

POOL = 12
PROMPT = 4 * BLOCK + 1
MAX_STEPS = 200


def make_rig(store: ToyStore, token_seconds: float | None = None) -> Rig:
    """Make a rig in which blocks go down by themselves only after an hour without a step."""
    prefill = BelievedCost()
    prefill.token_seconds = token_seconds
    return Rig(pool_blocks=POOL, max_tokens_per_step=64, rest=3600.0, prefill=prefill, store=store)


def prompt(number: int) -> list[int]:
    return [number, *range(PROMPT - 1)]


def flood(rig: Rig, count: int) -> None:
    """Compute `count` prompts without a block in common, one after the other."""
    for number in range(count):
        rig.add(prompt(number), max_tokens=1)
        rig.run(MAX_STEPS)


def add_behind_stuck_writes(rig: Rig) -> Request:
    """Fill the device, stop the writes to Redis, and add a request that is held back."""
    flood(rig, 2)
    assert rig.store is not None
    rig.store.refuses, rig.store.pending_writes = True, 8
    return rig.add(prompt(2), max_tokens=1)


def num_in_redis(rig: Rig, store: ToyStore) -> int:
    return sum(key in store.redis for request in rig.requests for key in request.block_keys)


def test_flood_loses_no_block_that_redis_has_room_for() -> None:
    store = ToyStore(capacity=8)
    rig = make_rig(store)
    flood(rig, 12)
    last = sum(block.is_unsaved for block in rig.pool._blocks)
    assert rig.pool.num_lost == 0
    assert num_in_redis(rig, store) >= 12 * 4 - last > 12 * 4 - POOL


def test_nothing_waits_while_memory_has_room() -> None:
    rig = make_rig(ToyStore(capacity=64))
    flood(rig, 1)
    rig.add(prompt(1), max_tokens=1)
    rig.step()
    assert [request.held_back_since for request in rig.requests] == [None, None]
    assert rig.tiers is not None
    assert rig.tiers.stores.num_copied == 0


def test_no_wait_while_redis_is_left_alone() -> None:
    rig = make_rig(ToyStore(capacity=64, redis_up=False))
    flood(rig, 6)
    assert all(request.held_back_since is None for request in rig.requests)
    assert rig.pool.num_lost > 0


def test_no_wait_where_loading_is_dearer_than_computing() -> None:
    rig = make_rig(ToyStore(capacity=64, speed=LinkSpeed(0.001, 1.0)), token_seconds=0.01)
    flood(rig, 6)
    assert all(request.held_back_since is None for request in rig.requests)


def test_wait_for_stuck_writes_ends() -> None:
    rig = make_rig(ToyStore(capacity=64))
    held = add_behind_stuck_writes(rig)
    for _ in range(3):
        assert rig.scheduler.schedule() is None
        rig.now += MAX_HELD_BACK_SECONDS / 3
    rig.step()
    assert held.status is not RequestStatus.WAITING


def test_request_waits_for_room_of_a_write_that_has_just_ended() -> None:
    store = ToyStore(capacity=64)
    rig = make_rig(store)
    held = add_behind_stuck_writes(rig)
    # The tier below counts the writes as ended before the CPU tier may evict their blocks.
    store.pending_writes = 0
    for _ in range(3):
        assert rig.scheduler.schedule() is None
        rig.now += STORE_RETRY_SECONDS / 2
    store.refuses = False
    rig.now += STORE_RETRY_SECONDS
    rig.run(MAX_STEPS)
    assert held.status is RequestStatus.FINISHED
    assert rig.pool.num_lost == 0


def test_no_wait_for_tier_that_nothing_will_empty() -> None:
    store = ToyStore(capacity=64)
    rig = make_rig(store)
    flood(rig, 2)
    store.refuses = True
    rig.add(prompt(2), max_tokens=1)
    for _ in range(2):
        assert rig.scheduler.schedule() is None
        rig.now += STORE_RETRY_SECONDS
    rig.run(MAX_STEPS)
    flood(rig, 4)
    assert rig.pool.num_lost > 0


def test_other_tenant_begins_while_one_is_held_back() -> None:
    rig = make_rig(ToyStore(capacity=64))
    held = add_behind_stuck_writes(rig)
    assert rig.scheduler.schedule() is None
    other = rig.add([40, 41, 42], max_tokens=1, tenant="other")
    output, _ = rig.step()
    assert set(output.num_scheduled_tokens) == {other.request_id}
    assert held.status is RequestStatus.WAITING
