"""The choice between loading blocks, computing them, and computing while asking Redis, with its effect on a request."""

from collections.abc import Callable

import pytest

from cache_tiers.lower.known_keys import KnownKeys
from cache_tiers.lower.link_speed import LinkMeter, LinkSpeed
from cache_tiers.moves.load_cost import LoadCost
from cache_tiers.owners.owners import Owners
from engine.offload.load_choice import ExpectedLoad, LoadChoice, choose
from engine.offload.prefill_cost import PrefillCost
from engine.request.request import Request, RequestStatus
from engine.request.scheduler_output import CachedRequestData, NewRequestData, SchedulerOutput
from tests.leaks import assert_no_leaks
from tests.model.toy_store import ToyStore
from tests.model.toys import BelievedCost, expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig, bare_request

MIB = 1 << 20


@pytest.mark.parametrize(
    ("cost", "compute_seconds", "choice"),
    [
        (None, 1.0, LoadChoice.NOTHING),
        (ExpectedLoad(None, None, False), 1.0, LoadChoice.LOAD),
        (ExpectedLoad(5.0, 0.001, True), None, LoadChoice.LOAD),
        (ExpectedLoad(0.1, 0.001, False), 1.0, LoadChoice.LOAD),
        (ExpectedLoad(0.9, 0.4, False), 1.0, LoadChoice.ASK),
        (ExpectedLoad(0.9, 0.4, True), 1.0, LoadChoice.LOAD),
        (ExpectedLoad(1.1, 0.001, True), 1.0, LoadChoice.LEAVE),
        (ExpectedLoad(None, 0.4, False), 1.0, LoadChoice.ASK),
    ],
)
def test_cheaper_way_is_chosen_and_unknown_one_is_tried(
    cost: ExpectedLoad | None, compute_seconds: float | None, choice: LoadChoice
) -> None:
    assert choose(cost, compute_seconds) is choice


def test_load_continues_while_cheaper_than_computing_the_rest() -> None:
    cost, link = LoadCost(MIB, deadline=2.0), LinkSpeed(0.01, 100 * MIB)
    assert cost.worth_waiting(link, 50, known=True, asked=0.1, waited=0.1, compute_seconds=1.0)
    assert not cost.worth_waiting(link, 200, known=True, asked=0.1, waited=0.1, compute_seconds=1.0)
    # The load has taken 0.5 s instead of the expected 0.1 s, so the estimate of the link no longer holds.
    assert not cost.worth_waiting(link, 8, known=True, asked=0.5, waited=0.5, compute_seconds=1.0)
    assert cost.worth_waiting(link, 8, known=True, asked=0.5, waited=0.5, compute_seconds=10.0)
    assert not cost.worth_waiting(link, 8, known=True, asked=2.5, waited=2.5, compute_seconds=100.0)
    assert cost.worth_waiting(None, 8, known=True, asked=1.9, waited=1.9, compute_seconds=None)
    assert not cost.worth_waiting(None, 8, known=True, asked=2.1, waited=2.1, compute_seconds=None)


def test_window_is_small_on_slow_and_large_on_far_link() -> None:
    cost = LoadCost(MIB)
    assert cost.window(None, 32) == 8
    assert cost.window(LinkSpeed(0.0001, 1000 * MIB), 32) == 16
    assert cost.window(LinkSpeed(0.5, 1000 * MIB), 32) == 32
    assert cost.window(LinkSpeed(0.005, 1 * MIB), 32) == 1
    assert cost.window(LinkSpeed(0.5, 1000 * MIB), 5) == 5


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def receive(meter: LinkMeter, clock: Clock, nbytes: int, seconds: float) -> None:
    received = 0
    with meter.receiving(lambda: received):
        clock.now += seconds
        received = nbytes


def test_meter_follows_changing_link() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    assert meter.speed == LinkSpeed(None, None)
    receive(meter, clock, 10 * MIB, 1.0)
    assert meter.speed.bytes_per_second == pytest.approx(10 * MIB)
    for _ in range(10):
        receive(meter, clock, 10 * MIB, 0.1)
        meter.on_answer(0.02)
    assert meter.speed.bytes_per_second == pytest.approx(100 * MIB, rel=0.3)
    assert meter.speed.answer_seconds == pytest.approx(0.02)
    assert meter.speed.seconds_for(100 * MIB, 2) == pytest.approx(1.04, rel=0.3)


def test_one_small_transfer_after_a_pause_updates_the_meter() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    receive(meter, clock, 20 * MIB, 2.0)
    clock.now += 5.0
    receive(meter, clock, 1 * MIB, 0.001)
    assert (meter.speed.bytes_per_second or 0) > 50 * MIB


def test_misses_and_faults_do_not_change_bytes_per_second() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    receive(meter, clock, 10 * MIB, 1.0)
    for _ in range(20):
        receive(meter, clock, 5, 0.001)
        receive(meter, clock, 0, 1.0)
    assert meter.speed.bytes_per_second == pytest.approx(10 * MIB)


def test_concurrent_connections_count_as_one_link() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    received = {"one": 0, "other": 0}
    for _ in range(30):
        with meter.receiving(lambda: received["one"]), meter.receiving(lambda: received["other"]):
            clock.now += 1.0
            received["one"] += 5 * MIB
            received["other"] += 5 * MIB
    assert meter.speed.bytes_per_second == pytest.approx(10 * MIB)


def test_known_keys_form_a_run_and_oldest_are_forgotten() -> None:
    known = KnownKeys(3, Owners())
    known.learn([b"a", b"b", b"c"], [True, False, True], whole=True)
    assert known.run([b"a", b"b", b"c"]) == 1
    known.learn([b"b"], [True], whole=False)
    assert known.run([b"a", b"b", b"c"]) == 3
    known.learn([b"d"], [True], whole=True)
    assert known.run([b"a"]) == 0
    assert [known.is_whole(key) for key in (b"b", b"c", b"d", b"e")] == [False, True, True, False]
    known.learn([b"c"], [False], whole=False)
    assert known.run([b"b", b"c"]) == 1
    known.learn([b"c"], [True], whole=False)
    assert not known.is_whole(b"c")


def step_of(start: int, count: int, *, new: bool = True) -> SchedulerOutput:
    request = bare_request(1)
    first = NewRequestData("r1", (), 0, (), start, request.sampling)
    return SchedulerOutput(
        step_id=0,
        new_requests=(first,) if new else (),
        cached_requests=() if new else (CachedRequestData("r1", (), start),),
        num_scheduled_tokens={"r1": count},
    )


def true_seconds(start: int, stop: int) -> float:
    return 4e-4 * (stop - start) + 5e-8 * (stop * stop - start * start) / 2


def test_prefill_cost_depends_on_length_and_prefix() -> None:
    prefill = PrefillCost()
    assert prefill.seconds(0, 100) is None
    for start, stop in ((0, 512), (512, 1024), (1024, 1536), (2048, 2560)):
        prefill.note(step_of(start, stop - start, new=start == 0), true_seconds(start, stop))
    for start, stop in ((0, 2048), (4096, 8192), (0, 64)):
        assert prefill.seconds(start, stop) == pytest.approx(true_seconds(start, stop), rel=0.02)


def test_prefill_cost_is_learned_from_one_kind_of_prompt() -> None:
    prefill = PrefillCost()
    for _ in range(5):
        prefill.note(step_of(0, 128), 0.05)
    assert prefill.seconds(0, 128) == pytest.approx(0.05, rel=0.01)
    assert prefill.seconds(0, 1280) == pytest.approx(0.5, rel=0.5)


def test_decode_step_does_not_change_prefill_cost() -> None:
    prefill = PrefillCost()
    prefill.note(step_of(100, 1), 0.01)
    assert prefill.seconds(0, 100) is None


# The tests below run in the scheduler. Computing a token takes 50 ms there. At 1000 bytes per second, loading a block
# takes 1 ms.

PROMPT = [1, 2, 3, 4] * 8
FAR = LinkSpeed(0.3, 1000.0)


def far_rig(*, latency: int, in_redis: int = 8, change: Callable[[ToyStore], None] = lambda _: None) -> Rig:
    """Build a rig whose Redis answers late and has the first blocks of PROMPT, which the rig does not know."""
    store = ToyStore(capacity=32)
    first = Rig(max_tokens_per_step=64, store=store)
    first.add(PROMPT)
    first.run()
    keys = first.requests[0].block_keys[:in_redis]
    there = ToyStore(
        capacity=32, redis={key: store.redis[key] for key in keys if key in store.redis}, latency=latency, speed=FAR
    )
    change(there)
    prefill = BelievedCost()
    prefill.token_seconds = 0.05
    return Rig(max_tokens_per_step=64, store=there, prefill=prefill)


def counts(rig: Rig, request: Request, steps: int) -> list[int]:
    """Count the tokens that the request computes in each of the next steps; 0 if it is in no step."""
    found = []
    for _ in range(steps):
        output = rig.scheduler.schedule()
        found.append(output.num_scheduled_tokens.get(request.request_id, 0) if output is not None else 0)
        if output is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
        assert_no_leaks(rig.scheduler)
    return found


def end_of(request: Request) -> tuple[str, tuple[str, ...]]:
    """Return why reuse ended, and the tiers that no longer have the next block."""
    assert request.reuse is not None
    assert request.reuse.end is not None
    return request.reuse.end.cause, request.reuse.end.gone_from


def test_prompt_is_computed_while_asking_redis_then_loaded() -> None:
    rig = far_rig(latency=2)
    request = rig.add([*PROMPT, 9])
    # Redis is expected to answer after 0.3 s, and computing a block takes 0.2 s.
    assert counts(rig, request, 2) == [BLOCK, BLOCK]
    rig.run()
    receipt = request.receipt
    assert receipt is not None
    assert (receipt.reused["redis"], receipt.computed) == (8 * BLOCK - 2 * BLOCK, 2 * BLOCK + 1)
    # BelievedCost counts 0.05 s for each token that was loaded in the end.
    assert request.reuse_seconds == pytest.approx(6 * BLOCK * 0.05)
    assert end_of(request) == ("not_worth_loading", ("device", "cpu"))
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_blocks_missing_in_redis_cost_no_wait() -> None:
    rig = far_rig(latency=2, in_redis=0)
    request = rig.add([*PROMPT, 9])
    found = counts(rig, request, 4)
    assert all(found)
    rig.run()
    assert request.receipt is not None
    assert request.receipt.computed == len(PROMPT) + 1


def test_late_miss_of_redis_is_reported_as_evicted() -> None:
    rig = far_rig(latency=0, in_redis=0)
    request = rig.add([*PROMPT, 9])
    assert counts(rig, request, 1) == [BLOCK]
    assert end_of(request) == ("not_worth_loading", ("device", "cpu"))
    counts(rig, request, 1)
    assert end_of(request) == ("evicted", ("device", "cpu", "redis"))


def test_only_blocks_ahead_of_computation_are_loaded() -> None:
    rig = far_rig(latency=2, in_redis=5)
    request = rig.add([*PROMPT, 9])
    rig.run()
    assert request.receipt is not None
    assert request.receipt.reused["redis"] == 5 * BLOCK - 2 * BLOCK
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_known_blocks_are_loaded_without_asking() -> None:
    rig = far_rig(latency=1, change=lambda store: store.known.update(store.redis))
    request = rig.add([*PROMPT, 9])
    assert counts(rig, request, 1) == [0]
    assert request.status is RequestStatus.LOADING
    rig.run()
    assert request.receipt is not None
    assert request.receipt.reused["redis"] == 8 * BLOCK


def test_known_blocks_of_longer_chat_are_loaded_without_asking() -> None:
    rig = far_rig(latency=1, change=lambda store: store.known.update(store.redis))
    request = rig.add([*PROMPT, *range(20, 20 + 2 * BLOCK)])
    counts(rig, request, 1)
    assert request.status is RequestStatus.LOADING
    rig.run()
    assert request.receipt is not None
    assert request.receipt.reused["redis"] == 8 * BLOCK


def test_redis_answer_for_waiting_request_is_kept() -> None:
    rig = far_rig(latency=2)
    assert rig.store is not None
    request = rig.add([*PROMPT, 9])
    counts(rig, request, 1)
    request.status = RequestStatus.WAITING
    assert rig.scheduler.connector.take_answered() == []
    assert rig.scheduler.connector.take_answered() == []
    request.status = RequestStatus.RUNNING
    assert rig.scheduler.connector.take_answered() == [request]


def test_slow_link_is_probed_with_one_block_only() -> None:
    def slow(store: ToyStore) -> None:
        store.speed = LinkSpeed(0.001, 1.0)

    rig = far_rig(latency=3, change=slow)
    assert rig.store is not None
    request = rig.add([*PROMPT, 9])
    assert counts(rig, request, 1) == [len(PROMPT) + 1]
    assert [len(pending.keys) for pending in rig.store.pending.values()] == [1]
    rig.run()
    assert request.receipt is not None
    assert request.receipt.reused["redis"] == 0
    assert end_of(request) == ("not_worth_loading", ("device", "cpu"))


def test_abort_during_question_or_load_leaves_no_blocks_in_use() -> None:
    for steps in range(6):
        rig = far_rig(latency=2)
        request = rig.add([*PROMPT, 9])
        counts(rig, request, steps)
        rig.scheduler.finish_request(request.request_id, "abort")
        rig.run()
        counts(rig, request, 5)
        assert rig.pool.num_used == 0


def test_two_requests_share_load_of_common_prefix() -> None:
    rig = far_rig(latency=4, change=lambda store: store.known.update(store.redis))
    assert rig.store is not None
    first, second = rig.add([*PROMPT, 9]), rig.add([*PROMPT, 8])
    counts(rig, first, 2)
    asked = [key for pending in rig.store.pending.values() for key in pending.keys]
    assert len(asked) == len(set(asked))
    rig.run()
    for request in (first, second):
        assert request.receipt is not None
        assert request.receipt.cached == 8 * BLOCK
        assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)
