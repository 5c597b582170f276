"""Summaries that the sections of `bench.turns` make of their samples, and the claims of a result."""

import pytest

from bench import arms, conversations, exactness, returning, step_time
from bench.conversations import TurnSample
from bench.exactness import ExactSample
from bench.plan import full_plan, quick_plan
from bench.report import Target
from bench.returning import Return, Round
from bench.turns import main


def _turn(arm: str, turn: int, chat: int, ttft_ms: float, answer: str) -> TurnSample:
    return TurnSample(arm, turn, chat, ttft_ms, 100, 10, 20, 30, 40, answer)


def test_answers_are_compared_only_for_equal_requests() -> None:
    samples = [
        *(_turn(arms.NO_REUSE, turn, 0, 100.0 * turn, f"answer {turn}") for turn in (1, 2, 3, 4)),
        *(_turn(arms.CPU, turn, 0, 20.0, "other" if turn == 2 else f"answer {turn}") for turn in (1, 2, 3, 4)),
    ]

    found = conversations.summarise(samples, kill_before_turn=3, ready_after_kill_s=4.0)

    (equality,) = found.equality
    # Turn 1 is equal and turn 2 differs. Turns 3 and 4 had another history and prove nothing.
    assert (equality.same_requests, equality.equal_of_same_request) == (2, 0.5)
    assert (equality.answers, equality.equal_of_all) == (4, 0.25)
    assert found.later_ttft_ratio == {arms.NO_REUSE: 1, arms.CPU: 15}
    assert [(row.arm, row.turn, row.disk) for row in found.rows][:2] == [
        (arms.NO_REUSE, 1, 30),
        (arms.NO_REUSE, 2, 30),
    ]


def test_returning_turn_is_ratio_of_medians() -> None:
    def one(ms: float) -> Return:
        return Return(ms, 2_000, 0, 1_900, 0, 100, 5.0)

    rounds = [Round(one(1000 + n), one(100 + n), one(200), 5.0) for n in (-50, 0, 50)]

    found = returning.summarise(rounds)

    assert (found.no_reuse_ms, found.from_cpu_ms, found.from_disk_ms) == (1000, 100, 200)
    assert (found.cpu_ratio, found.disk_ratio) == (10, 5)


def _exact(prompt: int, answers: dict[str, str], **cached: dict[str, int]) -> list[ExactSample]:
    found = []
    for place, answer in answers.items():
        held = cached.get(place, {} if place == "computed" else {place: 1024})
        tokens = {"device": 0, "cpu": 0, "redis": 0} | held
        found.append(ExactSample(prompt, place, **tokens, computed=1100 - sum(tokens.values()), answer=answer))
    return found


def test_exactness_compares_only_answers_of_one_cached_length() -> None:
    same = dict.fromkeys(("computed", "device", "cpu", "redis"), "tide")
    samples = [
        *_exact(0, same),
        *_exact(1, same | {"computed": "near tie"}),
        *_exact(2, same | {"redis": "wrong"}, redis={"redis": 960}),
        *_exact(3, same | {"cpu": "mixed tiers"}, cpu={"cpu": 960, "device": 64}),
    ]

    found = exactness.compare(samples, "bfloat16", 64)

    assert (found.compared, found.cached_tokens, found.equal_across_tiers) == (2, (1024, 1024), 1)
    assert found.equal_to_computed == 0.5


def test_exactness_detects_tier_that_changes_answer() -> None:
    samples = _exact(0, {"computed": "a", "device": "a", "cpu": "a", "redis": "b"})

    assert exactness.compare(samples, "float32", 64).equal_across_tiers == 0


def test_exactness_without_comparable_answers_claims_nothing() -> None:
    samples = _exact(0, dict.fromkeys(("computed", "device", "cpu", "redis"), "x"), device={})

    found = exactness.compare(samples, "float32", 64)

    assert found.equal_across_tiers is None
    assert not Target("equal", found.equal_across_tiers, 1, at_least=True).met


def test_step_time_is_compared_over_all_phases_and_in_each() -> None:
    off = [[0.010] * 50, [0.020] * 50]
    on = [[0.011] * 50, [0.021] * 50]

    found = step_time.summarise(8, off, on)

    assert found.tiers_off_ms.median == pytest.approx(15)
    assert found.median_ratio == pytest.approx(16 / 15)
    assert found.phase_median_ratios == pytest.approx((1.1, 1.05))


def test_step_time_with_gaps_of_zero_claims_nothing() -> None:
    found = step_time.summarise(8, off=[[0.030] + [0.0] * 49], on=[[0.011] * 50])

    assert found.median_ratio is None
    assert found.phase_median_ratios == (None,)
    assert found.p99_ratio is not None


@pytest.mark.parametrize("make_plan", [full_plan, quick_plan])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_device_pool_holds_one_request_but_not_all_chats(make_plan: type, dtype: str) -> None:
    plan = make_plan(dtype)

    settings = arms.with_all(plan, 2 * plan.chat_tokens)

    flags = dict(zip(settings.flags[::2], settings.flags[1::2], strict=True))
    assert plan.kv_bytes(plan.chat_tokens) < int(flags["--kv-memory"])
    assert int(flags["--kv-memory"]) < plan.kv_bytes(plan.shape.chats * plan.chat_tokens)
    assert int(flags["--cpu-kv-memory"]) > plan.kv_bytes(plan.shape.chats * plan.chat_tokens)
    assert int(flags["--max-model-len"]) >= plan.chat_tokens


def test_unknown_section_is_rejected_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--sections", "returning,speed"])
    assert "unknown sections: speed" in capsys.readouterr().err


def test_targets_know_their_direction() -> None:
    assert Target("ratio", 8.0, 8, at_least=True).met
    assert not Target("ratio", 7.9, 8, at_least=True).met
    assert Target("cost", 1.08, 1.08, at_least=False).met
    assert not Target("cost", 1.09, 1.08, at_least=False).met
