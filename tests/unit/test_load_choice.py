"""Load, compute, or compute and ask meanwhile: what is decided, and what becomes of a request then."""

from collections.abc import Callable

import pytest

from cache_tiers.link_speed import LinkMeter, LinkSpeed
from cache_tiers.load_cost import LoadCost
from cache_tiers.owners import Owners
from cache_tiers.redis.known_keys import KnownKeys
from engine.request import Request, RequestStatus
from engine.scheduling.load_choice import FromRedis, RedisCost, choose
from engine.scheduling.output import CachedRequestData, NewRequestData, SchedulerOutput
from engine.scheduling.prefill_cost import PrefillCost
from tests.model.toys import BelievedCost, ToyStore, expected_output
from tests.unit.scheduling_rig import BLOCK, VOCAB, Rig, bare_request

MIB = 1 << 20


@pytest.mark.parametrize(
    ("cost", "compute_seconds", "choice"),
    [
        (None, 1.0, FromRedis.NOTHING),
        (RedisCost(None, None, False), 1.0, FromRedis.LOAD),
        (RedisCost(5.0, 0.001, True), None, FromRedis.LOAD),
        (RedisCost(0.1, 0.001, False), 1.0, FromRedis.LOAD),
        (RedisCost(0.9, 0.4, False), 1.0, FromRedis.ASK),
        (RedisCost(0.9, 0.4, True), 1.0, FromRedis.LOAD),
        (RedisCost(1.1, 0.001, True), 1.0, FromRedis.LEAVE),
        (RedisCost(None, 0.4, False), 1.0, FromRedis.ASK),
    ],
)
def test_what_is_cheaper_is_done_and_what_is_unknown_is_tried(
    cost: RedisCost | None, compute_seconds: float | None, choice: FromRedis
) -> None:
    assert choose(cost, compute_seconds) is choice


def test_a_load_goes_on_while_it_is_cheaper_than_computing_what_is_left() -> None:
    cost, link = LoadCost(MIB, deadline=2.0), LinkSpeed(0.01, 100 * MIB)
    assert cost.worth_waiting(link, 50, known=True, asked=0.1, waited=0.1, compute_seconds=1.0)
    assert not cost.worth_waiting(link, 200, known=True, asked=0.1, waited=0.1, compute_seconds=1.0)
    # Half a second for what should take a tenth: whatever it waits for, it is not what was expected.
    assert not cost.worth_waiting(link, 8, known=True, asked=0.5, waited=0.5, compute_seconds=1.0)
    assert cost.worth_waiting(link, 8, known=True, asked=0.5, waited=0.5, compute_seconds=10.0)
    assert not cost.worth_waiting(link, 8, known=True, asked=2.5, waited=2.5, compute_seconds=100.0)
    assert cost.worth_waiting(None, 8, known=True, asked=1.9, waited=1.9, compute_seconds=None)
    assert not cost.worth_waiting(None, 8, known=True, asked=2.1, waited=2.1, compute_seconds=None)


def test_a_window_is_small_on_a_slow_link_and_large_on_a_far_one() -> None:
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


def test_the_meter_follows_a_link_that_changes() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    assert meter.speed == LinkSpeed(None, None)
    receive(meter, clock, 10 * MIB, 1.0)
    assert meter.speed.bytes_per_second == pytest.approx(10 * MIB)
    for _ in range(10):
        receive(meter, clock, 10 * MIB, 0.1)
        meter.answered(0.02)
    assert meter.speed.bytes_per_second == pytest.approx(100 * MIB, rel=0.3)
    assert meter.speed.answer_seconds == pytest.approx(0.02)
    assert meter.speed.seconds_for(100 * MIB, 2) == pytest.approx(1.04, rel=0.3)


def test_after_a_pause_one_small_lesson_is_enough() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    receive(meter, clock, 20 * MIB, 2.0)
    clock.now += 5.0
    receive(meter, clock, 1 * MIB, 0.001)
    assert (meter.speed.bytes_per_second or 0) > 50 * MIB


def test_misses_and_faults_say_nothing_about_bytes_per_second() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    receive(meter, clock, 10 * MIB, 1.0)
    for _ in range(20):
        receive(meter, clock, 5, 0.001)
        receive(meter, clock, 0, 1.0)
    assert meter.speed.bytes_per_second == pytest.approx(10 * MIB)


def test_two_connections_together_are_one_link() -> None:
    clock = Clock()
    meter = LinkMeter(clock)
    received = {"one": 0, "other": 0}
    for _ in range(30):
        with meter.receiving(lambda: received["one"]), meter.receiving(lambda: received["other"]):
            clock.now += 1.0
            received["one"] += 5 * MIB
            received["other"] += 5 * MIB
    assert meter.speed.bytes_per_second == pytest.approx(10 * MIB)


def test_known_keys_are_a_run_and_the_oldest_are_forgotten() -> None:
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
        0,
        new_requests=(first,) if new else (),
        cached_requests=() if new else (CachedRequestData("r1", (), start),),
        num_scheduled_tokens={"r1": count},
    )


def true_seconds(start: int, stop: int) -> float:
    return 4e-4 * (stop - start) + 5e-8 * (stop * stop - start * start) / 2


def test_what_computing_costs_is_learned_by_length_and_by_what_lies_before() -> None:
    prefill = PrefillCost()
    assert prefill.seconds(0, 100) is None
    for start, stop in ((0, 512), (512, 1024), (1024, 1536), (2048, 2560)):
        prefill.note(step_of(start, stop - start, new=start == 0), true_seconds(start, stop))
    for start, stop in ((0, 2048), (4096, 8192), (0, 64)):
        assert prefill.seconds(start, stop) == pytest.approx(true_seconds(start, stop), rel=0.02)


def test_one_kind_of_prompt_is_enough_to_know_its_like() -> None:
    prefill = PrefillCost()
    for _ in range(5):
        prefill.note(step_of(0, 128), 0.05)
    assert prefill.seconds(0, 128) == pytest.approx(0.05, rel=0.01)
    assert prefill.seconds(0, 1280) == pytest.approx(0.5, rel=0.5)


def test_a_decode_teaches_nothing_about_prompts() -> None:
    prefill = PrefillCost()
    prefill.note(step_of(100, 1), 0.01)
    assert prefill.seconds(0, 100) is None


# In the scheduler. Computing a token takes 50 ms there, a block of a link at 1000 bytes per second 1 ms.

PROMPT = [1, 2, 3, 4] * 8
FAR = LinkSpeed(0.3, 1000.0)


def far_rig(*, latency: int, in_redis: int = 8, change: Callable[[ToyStore], None] = lambda _: None) -> Rig:
    """Redis answers late and holds the first blocks of PROMPT; nothing is known of them here."""
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
    """What it computes in each of the next steps; 0 where it is not part of one, or there is none."""
    found = []
    for _ in range(steps):
        output = rig.scheduler.schedule()
        found.append(output.num_scheduled_tokens.get(request.request_id, 0) if output is not None else 0)
        if output is not None:
            rig.scheduler.update(output, rig.worker.execute(output))
        rig.scheduler.check()
    return found


def end_of(request: Request) -> tuple[str, tuple[str, ...]]:
    """Why reuse ended, and where the next block is no more."""
    assert request.reuse is not None
    assert request.reuse.end is not None
    return request.reuse.end.cause, request.reuse.end.gone_from


def test_while_redis_is_asked_the_prompt_is_computed_in_pieces_and_the_rest_is_loaded() -> None:
    rig = far_rig(latency=2)
    request = rig.add([*PROMPT, 9])
    # An answer is due in 0.3 s, and a block takes 0.2 s.
    assert counts(rig, request, 2) == [BLOCK, BLOCK]
    rig.run()
    receipt = request.receipt
    assert receipt is not None
    assert (receipt.redis, receipt.computed) == (8 * BLOCK - 2 * BLOCK, 2 * BLOCK + 1)
    # BelievedCost: 0.05 s for each of the tokens that were loaded after all.
    assert request.reuse_seconds == pytest.approx(6 * BLOCK * 0.05)
    assert end_of(request) == ("not_worth_loading", ("device", "cpu"))
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_what_redis_does_not_have_costs_no_wait() -> None:
    rig = far_rig(latency=2, in_redis=0)
    request = rig.add([*PROMPT, 9])
    found = counts(rig, request, 4)
    assert all(found)
    rig.run()
    assert request.receipt is not None
    assert request.receipt.computed == len(PROMPT) + 1


def test_that_redis_does_not_have_it_is_told_although_the_answer_came_late() -> None:
    rig = far_rig(latency=0, in_redis=0)
    request = rig.add([*PROMPT, 9])
    assert counts(rig, request, 1) == [BLOCK]
    assert end_of(request) == ("not_worth_loading", ("device", "cpu"))
    counts(rig, request, 1)
    assert end_of(request) == ("evicted", ("device", "cpu", "redis"))


def test_of_what_redis_has_only_what_is_ahead_is_loaded() -> None:
    rig = far_rig(latency=2, in_redis=5)
    request = rig.add([*PROMPT, 9])
    rig.run()
    assert request.receipt is not None
    assert request.receipt.redis == 5 * BLOCK - 2 * BLOCK
    assert request.output_token_ids == expected_output(request.prompt_token_ids, request.sampling, VOCAB)


def test_what_is_known_to_be_there_is_loaded_without_a_question() -> None:
    rig = far_rig(latency=1, change=lambda store: store.known.update(store.redis))
    request = rig.add([*PROMPT, 9])
    assert counts(rig, request, 1) == [0]
    assert request.status is RequestStatus.LOADING
    rig.run()
    assert request.receipt is not None
    assert request.receipt.redis == 8 * BLOCK


def test_of_a_chat_that_goes_on_what_is_known_is_loaded_without_a_question() -> None:
    rig = far_rig(latency=1, change=lambda store: store.known.update(store.redis))
    request = rig.add([*PROMPT, *range(20, 20 + 2 * BLOCK)])
    counts(rig, request, 1)
    assert request.status is RequestStatus.LOADING
    rig.run()
    assert request.receipt is not None
    assert request.receipt.redis == 8 * BLOCK


def test_an_answer_that_comes_while_the_request_waits_is_not_lost() -> None:
    rig = far_rig(latency=2)
    assert rig.store is not None
    request = rig.add([*PROMPT, 9])
    counts(rig, request, 1)
    request.status = RequestStatus.WAITING
    assert rig.scheduler.tiering is not None
    assert rig.scheduler.tiering.take_answered() == []
    assert rig.scheduler.tiering.take_answered() == []
    request.status = RequestStatus.RUNNING
    assert rig.scheduler.tiering.take_answered() == [request]


def test_a_link_slower_than_computing_is_left_alone_and_tried_now_and_then_for_one_block() -> None:
    def slow(store: ToyStore) -> None:
        store.speed = LinkSpeed(0.001, 1.0)

    rig = far_rig(latency=3, change=slow)
    assert rig.store is not None
    request = rig.add([*PROMPT, 9])
    assert counts(rig, request, 1) == [len(PROMPT) + 1]
    assert [len(pending.keys) for pending in rig.store.pending.values()] == [1]
    rig.run()
    assert request.receipt is not None
    assert request.receipt.redis == 0
    assert end_of(request) == ("not_worth_loading", ("device", "cpu"))


def test_an_abort_while_redis_is_asked_or_what_it_has_comes_leaves_nothing_behind() -> None:
    for steps in range(6):
        rig = far_rig(latency=2)
        request = rig.add([*PROMPT, 9])
        counts(rig, request, steps)
        rig.scheduler.finish_request(request.request_id, "abort")
        rig.run()
        counts(rig, request, 5)
        assert rig.pool.num_used == 0


def test_two_requests_share_the_load_of_their_common_beginning() -> None:
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
