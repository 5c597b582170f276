"""Blocks that are erased while something is being done with them: none comes back, but by being computed again."""

from collections.abc import Sequence

from cache_tiers.block_key import BlockKey, extend_keys
from engine.scheduling.output import ModelRunnerOutput, SchedulerOutput
from tests.model.toys import ToyStore
from tests.unit.scheduling_rig import BLOCK, ROOT, Rig

PROMPT = list(range(1, 10))
KEYS = extend_keys(ROOT, PROMPT, BLOCK)
BLOCKS = {key: PROMPT[at * BLOCK : (at + 1) * BLOCK] for at, key in enumerate(KEYS)}


def begin(rig: Rig) -> tuple[SchedulerOutput, ModelRunnerOutput]:
    """The next step, computed; its result is not told yet."""
    for _ in range(20):
        output = rig.scheduler.schedule()
        if output is not None:
            return output, rig.worker.execute(output)
    raise AssertionError("there is nothing to do")


def begin_store(rig: Rig) -> tuple[SchedulerOutput, ModelRunnerOutput]:
    """The next step that takes the first block down; those before it are over."""
    for _ in range(20):
        output, result = begin(rig)
        if output.stores:
            return output, result
        rig.scheduler.update(output, result)
    raise AssertionError("nothing goes down")


def settle(rig: Rig) -> None:
    """Until nobody waits and nothing moves."""
    rig.run()
    for _ in range(20):
        output = rig.scheduler.schedule()
        if output is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
        rig.scheduler.check()


def anywhere(rig: Rig, keys: Sequence[BlockKey]) -> set[str]:
    """Which tiers hold any of them."""
    store = rig.store
    assert store is not None
    found = {
        "device": any(rig.pool.find(key, ids) for key, ids in BLOCKS.items() if key in keys),
        "cpu": any(key in store.ready or key in store.reserved for key in keys),
        "redis": any(key in store.redis for key in keys),
    }
    return {tier for tier, is_there in found.items() if is_there}


def test_what_nobody_uses_is_gone_at_once_from_every_tier() -> None:
    rig = Rig(store=ToyStore(16))
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    assert anywhere(rig, KEYS[1:]) == {"device", "cpu", "redis"}
    rig.scheduler.erase(KEYS[1:])
    assert anywhere(rig, KEYS[1:]) == set()
    again = rig.add(PROMPT, max_tokens=1)
    settle(rig)
    assert again.receipt is not None
    assert (again.receipt.device, again.receipt.computed) == (BLOCK, len(PROMPT) - BLOCK)


def test_a_copy_down_that_is_under_way_is_given_up_when_it_ends() -> None:
    rig = Rig(store=ToyStore(16))
    rig.add(PROMPT, max_tokens=1)
    step = begin_store(rig)
    rig.scheduler.erase(KEYS)
    rig.scheduler.update(*step)
    assert anywhere(rig, KEYS) == set(), "it went down all the same"
    settle(rig)
    assert anywhere(rig, KEYS) == set()
    rig.scheduler.check()


def test_what_waits_to_go_down_stays_up_no_longer() -> None:
    store = ToyStore(16, refuses=True)
    rig = Rig(store=store)
    rig.add(PROMPT, max_tokens=1)
    settle(rig)
    rig.scheduler.erase(KEYS)
    store.refuses, rig.now = False, 10.0
    settle(rig)
    assert anywhere(rig, KEYS) == set()


def test_a_running_request_goes_on_with_erased_blocks_and_ends_right() -> None:
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


def test_what_arrives_for_an_aborted_request_is_found_by_nobody() -> None:
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
    rig.scheduler.check()


def test_what_is_computed_again_meanwhile_stays() -> None:
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
    rig.scheduler.check()


def test_what_is_offered_again_while_somebody_reads_it_below_stays() -> None:
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
