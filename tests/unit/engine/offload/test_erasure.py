"""Blocks erased while they are copied, loaded or used: none comes back unless a request computes it again."""

from collections.abc import Sequence

from cache_tiers.owners.block_key import BlockKey, extend_keys
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.unit.scheduling_rig import BLOCK, ROOT, Rig

PROMPT = list(range(1, 10))
KEYS = extend_keys(ROOT, PROMPT, BLOCK)
BLOCKS = {key: PROMPT[at * BLOCK : (at + 1) * BLOCK] for at, key in enumerate(KEYS)}


def begin(rig: Rig) -> tuple[SchedulerOutput, ModelRunnerOutput]:
    """Execute the next step. The scheduler has not received its result yet."""
    for _ in range(20):
        output = rig.scheduler.schedule()
        if output is not None:
            return output, rig.worker.execute(output)
    raise AssertionError("no step was scheduled")


def begin_store(rig: Rig) -> tuple[SchedulerOutput, ModelRunnerOutput]:
    """Run steps up to the first one that stores a block, and execute it without reporting its result."""
    for _ in range(20):
        output, result = begin(rig)
        if output.stores:
            return output, result
        rig.scheduler.update(output, result)
    raise AssertionError("no block was stored")


def settle(rig: Rig) -> None:
    """Run until no request waits and no copy is in flight."""
    rig.run()
    for _ in range(20):
        output = rig.scheduler.schedule()
        if output is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
        assert_no_leaks(rig.scheduler)


def anywhere(rig: Rig, keys: Sequence[BlockKey]) -> set[str]:
    """Return the tiers that hold any of `keys`."""
    store = rig.store
    assert store is not None
    found = {
        "device": any(rig.pool.find(key, ids) for key, ids in BLOCKS.items() if key in keys),
        "cpu": any(key in store.ready or key in store.reserved for key in keys),
        "redis": any(key in store.redis for key in keys),
    }
    return {tier for tier, is_there in found.items() if is_there}


def test_unused_blocks_are_erased_from_every_tier_at_once() -> None:
    rig = Rig(store=ToyStore(16))
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    assert anywhere(rig, KEYS[1:]) == {"device", "cpu", "redis"}
    rig.scheduler.erase(KEYS[1:])
    assert anywhere(rig, KEYS[1:]) == set()
    again = rig.add(PROMPT, max_tokens=1)
    settle(rig)
    assert again.receipt is not None
    assert (again.receipt.reused["device"], again.receipt.computed) == (BLOCK, len(PROMPT) - BLOCK)


def test_store_in_flight_is_dropped_when_it_ends() -> None:
    rig = Rig(store=ToyStore(16))
    rig.add(PROMPT, max_tokens=1)
    step = begin_store(rig)
    rig.scheduler.erase(KEYS)
    rig.scheduler.update(*step)
    assert anywhere(rig, KEYS) == set(), "the erased block was stored"
    settle(rig)
    assert anywhere(rig, KEYS) == set()
    assert_no_leaks(rig.scheduler)


def test_block_waiting_to_be_stored_is_erased() -> None:
    store = ToyStore(16, refuses=True)
    rig = Rig(store=store)
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    rig.scheduler.erase(KEYS)
    store.refuses, rig.now = False, 10.0
    settle(rig)
    assert anywhere(rig, KEYS) == set()


def test_running_request_continues_with_erased_blocks() -> None:
    rig = Rig(store=ToyStore(16), max_tokens_per_step=BLOCK)
    request, other = rig.add([*PROMPT, 30, 31, 32], max_tokens=6), Rig()
    alone = other.add([*PROMPT, 30, 31, 32], max_tokens=6)
    other.run()
    for _ in range(3):
        rig.scheduler.update(*begin(rig))
    assert rig.pool.find(KEYS[0], PROMPT[:BLOCK]) is not None
    rig.scheduler.erase(KEYS)
    settle(rig)
    assert request.output_token_ids == alone.output_token_ids
    assert rig.pool.find(KEYS[0], PROMPT[:BLOCK]) is None


def test_blocks_loaded_for_aborted_request_are_not_published() -> None:
    store = ToyStore(16)
    rig = Rig(store=store)
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    rig.pool.forget_free()
    store.clear_cpu()
    store.latency = 1
    store.known = set(store.redis)
    loading = rig.add(PROMPT, max_tokens=1)
    output = rig.scheduler.schedule()
    assert rig.scheduler.num_loading == 1
    assert output is not None
    assert output.loads
    rig.scheduler.finish_request(loading.request_id, "abort")
    rig.scheduler.erase(KEYS)
    assert anywhere(rig, KEYS) == {"cpu", "redis"}
    rig.scheduler.update(output, rig.worker.execute(output))
    settle(rig)
    assert anywhere(rig, KEYS) == set()
    assert_no_leaks(rig.scheduler)


def test_block_recomputed_after_erase_stays() -> None:
    rig = Rig(store=ToyStore(16))
    rig.add(PROMPT, max_tokens=1)
    step = begin_store(rig)
    rig.scheduler.erase(KEYS)
    rig.add(PROMPT, max_tokens=1)
    again = begin(rig)
    rig.scheduler.update(*step)
    rig.scheduler.update(*again)
    rig.now = 10.0
    settle(rig)
    assert anywhere(rig, KEYS[:1]) == {"device", "cpu", "redis"}
    assert_no_leaks(rig.scheduler)


def test_block_offered_again_while_locked_in_cpu_stays() -> None:
    store = ToyStore(16)
    rig = Rig(store=store)
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    store.locks[KEYS[0]] = 1
    rig.scheduler.erase(KEYS)
    assert rig.tiers is not None
    rig.tiers.offer(KEYS[0], 0)
    store.locks[KEYS[0]] = 0
    settle(rig)
    assert anywhere(rig, KEYS[:1]) == {"cpu", "redis"}
    assert anywhere(rig, KEYS[1:]) == set()


def test_erasure_that_redis_misses_is_known_until_repeated() -> None:
    rig = Rig(store=ToyStore(16))
    assert rig.store is not None
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    rig.store.redis_up = False
    rig.scheduler.erase(KEYS)
    assert rig.scheduler.connector.erased(KEYS) is False
    rig.store.redis_up = True
    rig.scheduler.erase(KEYS)
    assert rig.scheduler.connector.erased(KEYS) is True
    assert anywhere(rig, KEYS) == set()


def test_erasure_of_a_block_in_use_is_not_known_yet() -> None:
    rig = Rig(store=ToyStore(16))
    rig.add(PROMPT, max_tokens=1)
    step = begin_store(rig)
    rig.scheduler.erase(KEYS)
    assert rig.scheduler.connector.erased(KEYS) is None
    rig.scheduler.update(*step)
    settle(rig)
    assert rig.scheduler.connector.erased(KEYS) is True
