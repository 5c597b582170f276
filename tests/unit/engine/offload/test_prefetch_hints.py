"""Prefetching of expected prompts into host memory and the device, without delaying other requests."""

from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.owners.block_key import BlockKey, extend_keys
from engine.offload.connector import OffloadConnector
from engine.offload.idle_promotion import MAX_BLOCKS
from engine.offload.prefetch_hints import LAPSE_SECONDS, MAX_PER_TENANT, PrefetchHints
from engine.request.scheduler_output import ModelRunnerOutput, SchedulerOutput
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import expected_output
from tests.unit.scheduling_rig import BLOCK, ROOT, VOCAB, Rig

PROMPT = [1, 2, 3, 4] * 8
KEYS = extend_keys(ROOT, PROMPT, BLOCK)


def chats(count: int) -> list[list[int]]:
    """Build `count` prompts of eight blocks that share no prefix."""
    return [[10 + chat, 2, 3, 4] * 8 for chat in range(count)]


def rig_with_redis(
    prompts: list[list[int]], *, capacity: int = 64, latency: int = 2, max_window: int = 8, pool_blocks: int = 64
) -> Rig:
    """Build a rig in which Redis has all blocks of `prompts` and the other tiers are empty."""
    before = Rig(max_tokens_per_step=64, pool_blocks=256, store=ToyStore(capacity=256))
    for prompt in prompts:
        before.add(prompt, max_tokens=1)
        before.run()
    assert before.store is not None
    there = ToyStore(capacity, latency, max_window, LinkSpeed(0.001, 1000.0), redis=dict(before.store.redis))
    return Rig(max_tokens_per_step=64, store=there, pool_blocks=pool_blocks)


def hints_of(rig: Rig) -> PrefetchHints:
    assert isinstance(rig.scheduler.connector, OffloadConnector)
    return rig.scheduler.connector.hints


def add_hint(rig: Rig, name: str, prompt: list[int], tenant: str = "local") -> bool:
    return hints_of(rig).add_hint(name, tenant, extend_keys(ROOT, prompt, BLOCK), prompt)


def polls(rig: Rig, count: int = 40) -> None:
    """Poll the scheduler `count` times and run the steps it schedules."""
    for _ in range(count):
        output = rig.scheduler.schedule()
        if output is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
        assert_no_leaks(rig.scheduler)


def leave_in_cpu(rig: Rig, *prompts: list[int]) -> None:
    """Compute the prompts, then drop their blocks from the device."""
    for prompt in prompts:
        rig.add(prompt, max_tokens=1)
        rig.run()
    polls(rig)
    rig.pool.forget_free()


def begin_to_lift(rig: Rig) -> tuple[SchedulerOutput, ModelRunnerOutput]:
    """Execute the first step that copies blocks to the device. The scheduler has not received its result yet."""
    for _ in range(20):
        output = rig.scheduler.schedule()
        if output is not None:
            assert output.loads
            assert not output.total_tokens
            return output, rig.worker.execute(output)
    raise AssertionError("no promotion was scheduled")


def on_device(rig: Rig, prompt: list[int]) -> int:
    return sum(rig.pool.has(key) for key in extend_keys(ROOT, prompt, BLOCK))


def in_cpu(rig: Rig, keys: list[BlockKey]) -> int:
    assert rig.store is not None
    return sum(key in rig.store.ready for key in keys)


def in_cpu_of(rig: Rig, prompt: list[int]) -> int:
    return in_cpu(rig, extend_keys(ROOT, prompt, BLOCK))


def num_asked(rig: Rig) -> int:
    assert rig.store is not None
    return rig.store.handles


def test_hint_brings_prefix_from_redis_to_device() -> None:
    rig = rig_with_redis([PROMPT])
    assert add_hint(rig, "chat", PROMPT)
    polls(rig)
    assert in_cpu(rig, KEYS) == 8
    assert rig.tiers is not None
    assert rig.tiers.num_brought_ahead == 8
    assert on_device(rig, PROMPT) == 8
    assert add_hint(rig, "chat", PROMPT)
    assert rig.scheduler.schedule() is None, "there is nothing left to load"
    request = rig.add([*PROMPT, 9])
    rig.run()
    assert request.receipt is not None
    assert (request.receipt.reused["device"], request.receipt.reused["cpu"], request.receipt.reused["redis"]) == (
        8 * BLOCK,
        0,
        0,
    )
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)
    assert not add_hint(rig, "chat", PROMPT), "the prompt is already on the device"


def test_receipt_counts_what_hints_brought_only_once() -> None:
    rig = rig_with_redis([PROMPT])
    add_hint(rig, "chat", PROMPT)
    polls(rig)
    # The person went on typing until the hint lapsed.
    rig.now += LAPSE_SECONDS
    polls(rig)
    first, second = rig.add([*PROMPT[: 6 * BLOCK], 9]), rig.add([*PROMPT, 9])
    rig.run()
    assert first.receipt is not None
    assert second.receipt is not None
    assert first.receipt.prefetched == {"redis": 6 * BLOCK}
    assert second.receipt.prefetched == {"redis": 2 * BLOCK}


def test_erased_blocks_are_not_in_a_receipt() -> None:
    rig = rig_with_redis([PROMPT])
    add_hint(rig, "chat", PROMPT)
    polls(rig)
    hints_of(rig).erase(KEYS)
    request = rig.add([*PROMPT, 9])
    rig.run()
    assert request.receipt is not None
    assert not request.receipt.prefetched


def test_hint_brings_prefix_from_cpu_to_device_without_redis() -> None:
    rig = rig_with_redis([PROMPT])
    leave_in_cpu(rig, PROMPT)
    assert rig.store is not None
    rig.store.redis_up = False
    assert add_hint(rig, "chat", PROMPT)
    polls(rig)
    assert on_device(rig, PROMPT) == 8


def test_nothing_is_lifted_to_device_while_a_request_runs() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    rig.add([9, 9, 9], max_tokens=12)
    rig.step()
    add_hint(rig, "chat", PROMPT)
    while rig.scheduler.has_unfinished_requests():
        output, _ = rig.step()
        assert not output.loads
    assert on_device(rig, PROMPT) == 0
    polls(rig)
    assert on_device(rig, PROMPT) == 8


def test_new_request_waits_for_one_lift_only() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    add_hint(rig, "chat", PROMPT)
    output, result = begin_to_lift(rig)
    assert len(output.loads) == MAX_BLOCKS
    other = rig.add([9, 9, 9], max_tokens=2)
    rig.scheduler.update(output, result)
    following, _ = rig.begin()
    assert (following.loads, [new.request_id for new in following.new_requests]) == ((), [other.request_id])
    assert on_device(rig, PROMPT) == MAX_BLOCKS


def test_request_loads_the_rest_of_a_lifted_prefix() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    add_hint(rig, "chat", PROMPT)
    output, result = begin_to_lift(rig)
    request = rig.add([*PROMPT, 9])
    rig.scheduler.update(output, result)
    rig.run()
    assert request.receipt is not None
    assert (request.receipt.reused["device"], request.receipt.reused["cpu"]) == (
        MAX_BLOCKS * BLOCK,
        (8 - MAX_BLOCKS) * BLOCK,
    )
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_cancelled_hint_stops_lifting() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    add_hint(rig, "chat", PROMPT)
    output, result = begin_to_lift(rig)
    hints_of(rig).forget("chat")
    rig.scheduler.update(output, result)
    polls(rig)
    assert on_device(rig, PROMPT) == MAX_BLOCKS


def test_blocks_erased_during_lift_are_not_published() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    add_hint(rig, "chat", PROMPT)
    output, result = begin_to_lift(rig)
    rig.scheduler.erase(KEYS)
    rig.scheduler.update(output, result)
    polls(rig)
    assert on_device(rig, PROMPT) == in_cpu(rig, KEYS) == 0


def test_lifts_take_eighth_of_device_per_tenant_quarter_in_all() -> None:
    prompts = chats(5)
    rig = rig_with_redis([], capacity=256, pool_blocks=96)
    leave_in_cpu(rig, *prompts)
    assert [add_hint(rig, f"a{at}", prompts[at], "alice") for at in range(3)] == [True, True, False]
    polls(rig)
    assert [on_device(rig, prompt) for prompt in prompts] == [8, 4, 0, 0, 0]
    hints_of(rig).forget("a0")
    assert not add_hint(rig, "a2", prompts[2], "alice"), "loaded blocks must count after the hint was dropped"
    assert [add_hint(rig, "b", prompts[3], "bob"), add_hint(rig, "c", prompts[4], "carol")] == [True, True]
    polls(rig)
    assert [on_device(rig, prompt) for prompt in prompts] == [8, 4, 0, 8, 4]
    rig.now += LAPSE_SECONDS
    assert add_hint(rig, "a2", prompts[2], "alice")


def test_lift_evicts_other_prefixes_and_not_its_own() -> None:
    others = [[10 + number, 5, 6, 7] * 7 for number in range(4)]
    rig = rig_with_redis([], capacity=256, pool_blocks=33)
    leave_in_cpu(rig, PROMPT)
    for prompt in [PROMPT[: 4 * BLOCK], *others]:
        rig.add(prompt, max_tokens=1)
        rig.run()
    polls(rig)
    assert on_device(rig, PROMPT) == 4
    assert rig.pool.num_cached >= 32
    add_hint(rig, "chat", PROMPT)
    polls(rig)
    assert on_device(rig, PROMPT) == 8
    rig.add([9] * 29 * BLOCK, max_tokens=1)
    rig.run()
    assert [rig.pool.has(key) for key in KEYS] == [True] * 4 + [False] * 4, "a chain must be evicted from its end"


def test_failed_lift_is_not_continued() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    add_hint(rig, "chat", PROMPT)
    output, _ = begin_to_lift(rig)
    rig.scheduler.fail_step(output)
    polls(rig)
    assert on_device(rig, PROMPT) == 0


def test_lifted_blocks_are_not_found_after_device_is_lost() -> None:
    rig = rig_with_redis([])
    leave_in_cpu(rig, PROMPT)
    add_hint(rig, "chat", PROMPT)
    output, result = begin_to_lift(rig)
    rig.add([9, 9, 9], max_tokens=1)
    lost, _ = rig.begin()
    rig.scheduler.update(output, result)
    rig.worker.device.clear()
    rig.scheduler.lose_step(lost)
    rig.scheduler.lose_device()
    rig.scheduler.schedule()
    assert on_device(rig, PROMPT) == 0


def test_repeated_hint_fetches_nothing_and_new_one_replaces_it() -> None:
    first, second = chats(2)
    rig = rig_with_redis([first, second], capacity=128, max_window=2)
    assert add_hint(rig, "chat", first)
    polls(rig, 1)
    asked = num_asked(rig)
    assert add_hint(rig, "chat", first)
    assert num_asked(rig) == asked
    assert on_device(rig, first) == 0
    assert add_hint(rig, "chat", second)
    polls(rig)
    assert in_cpu_of(rig, second) == 8
    assert in_cpu_of(rig, first) == 2, "only blocks in flight may arrive"


def test_cancelled_or_expired_hint_stops_prefetch() -> None:
    first, second = chats(2)
    rig = rig_with_redis([first, second], max_window=2, latency=4)
    add_hint(rig, "left", first)
    polls(rig, 2)
    hints_of(rig).forget("left")
    add_hint(rig, "lapsed", second)
    polls(rig, 2)
    rig.now += LAPSE_SECONDS
    polls(rig)
    assert in_cpu_of(rig, first) == in_cpu_of(rig, second) == 2
    assert rig.tiers is not None
    assert rig.tiers.next_poll_seconds() is None


def test_request_takes_over_blocks_in_flight() -> None:
    rig = rig_with_redis([PROMPT], max_window=3, latency=6)
    assert rig.store is not None
    add_hint(rig, "chat", PROMPT)
    polls(rig, 2)
    request = rig.add([*PROMPT, 9])
    asked = [key for pending in rig.store.pending.values() for key in pending.keys]
    rig.run()
    assert len(asked) == len(set(asked)), "a block was fetched twice"
    assert request.receipt is not None
    assert request.receipt.reused["cpu"] + request.receipt.reused["redis"] == 8 * BLOCK
    assert rig.tiers is not None
    assert rig.tiers.num_warmed_ahead == 0


def test_hint_fetches_nothing_while_a_request_loads() -> None:
    own, other = chats(2)
    rig = rig_with_redis([own, other], latency=6)
    assert rig.store is not None
    rig.add([*own, 9])
    rig.scheduler.schedule()
    add_hint(rig, "chat", other)
    for _ in range(3):
        rig.scheduler.schedule()
    assert all(key not in pending.keys for pending in rig.store.pending.values() for key in extend_keys(ROOT, other, 4))
    rig.run()
    polls(rig)
    assert in_cpu_of(rig, other) == 8


def test_hints_take_eighth_of_cpu_per_tenant_and_quarter_in_all() -> None:
    prompts = chats(4)
    rig = rig_with_redis(prompts, capacity=96)
    assert [add_hint(rig, f"a{at}", prompts[at], "alice") for at in range(2)] == [True, True]
    polls(rig)
    assert in_cpu_of(rig, prompts[0]) + in_cpu_of(rig, prompts[1]) == 12
    hints_of(rig).forget("a0")
    assert not add_hint(rig, "a2", prompts[2], "alice"), "loaded blocks must count after the hint was dropped"
    assert add_hint(rig, "b", prompts[2], "bob")
    assert add_hint(rig, "c", prompts[3], "carol")
    polls(rig)
    assert in_cpu_of(rig, prompts[2]) + in_cpu_of(rig, prompts[3]) == 12
    rig.now += LAPSE_SECONDS
    assert add_hint(rig, "a2", prompts[3], "alice")


def test_only_newest_hints_of_tenant_are_prefetched() -> None:
    prompts = chats(MAX_PER_TENANT + 1)
    rig = rig_with_redis(prompts, capacity=2048, max_window=1)
    for number, prompt in enumerate(prompts):
        assert add_hint(rig, f"chat {number}", prompt)
    polls(rig, 200)
    assert [in_cpu_of(rig, prompt) for prompt in prompts] == [0, *[8] * MAX_PER_TENANT]


def test_unavailable_redis_is_not_asked() -> None:
    rig = rig_with_redis([PROMPT])
    assert rig.store is not None
    rig.store.redis_up = False
    assert not add_hint(rig, "chat", PROMPT)
    assert num_asked(rig) == 0
    rig.store.redis_up = True
    add_hint(rig, "chat", PROMPT)
    rig.store.redis_up = False
    polls(rig)
    assert in_cpu(rig, KEYS) == 0
    assert rig.tiers is not None
    assert rig.tiers.next_poll_seconds() is None


def test_request_does_not_wait_for_hanging_prefetch() -> None:
    rig = rig_with_redis([PROMPT], latency=1_000_000)
    add_hint(rig, "chat", PROMPT)
    polls(rig, 2)
    request = rig.add([*PROMPT, 9])
    polls(rig, 2)
    rig.now += 5.0
    rig.run()
    assert request.receipt is not None
    assert request.receipt.computed == len(PROMPT) + 1
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_erased_blocks_are_not_prefetched() -> None:
    rig = rig_with_redis([PROMPT], max_window=1, latency=3)
    add_hint(rig, "chat", PROMPT)
    polls(rig, 2)
    rig.scheduler.erase(KEYS)
    polls(rig)
    assert in_cpu(rig, KEYS) == 0


def test_partial_block_is_prefetched() -> None:
    rig = rig_with_redis([PROMPT], capacity=128, pool_blocks=96)
    rest = (40, 41, 42)
    first = rig.add([*PROMPT, *rest], max_tokens=1)
    rig.run()
    assert rig.store is not None
    rig.store.clear_cpu()
    rig.pool.forget_free()
    assert hints_of(rig).add_hint("chat", "local", KEYS, [*PROMPT, *rest])
    polls(rig)
    again = rig.add([*PROMPT, *rest, *first.output_token_ids, 7])
    rig.run()
    assert again.receipt is not None
    assert (again.receipt.reused["device"], again.receipt.reused["cpu"], again.receipt.reused["redis"]) == (
        8 * BLOCK + len(rest),
        0,
        0,
    )
    assert again.output_token_ids == expected_output(again.prompt_token_ids, again.sampling, VOCAB)
