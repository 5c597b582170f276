"""The parts of a soak that need no server: the schedule of faults, the definition of an error, and the verdict."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from app.client.chat_client import Event
from bench.machine import Machine
from bench.soak.client import Heard, NotAsExpectedError
from bench.soak.disk import DiskSample, DiskSummary, sample_disk, summarise_disk
from bench.soak.faults import FAULTS, schedule
from bench.soak.observed import Counts, MemorySample, bad_lines, describe_requests, read_counts, summarise_memory
from bench.soak.plan import SoakPlan
from bench.soak.report import SoakReport, passed, targets, to_markdown
from bench.soak.scripts import Answers, make_scripts

PLAN = SoakPlan(seconds=1800.0, seed=1, chats=64)
MB = 1_000_000


def test_each_fault_is_undone_before_next_and_before_end() -> None:
    strikes = schedule(PLAN, list(FAULTS))
    assert len(strikes) == 179
    assert all(1.0 <= strike.seconds <= 8.0 for strike in strikes)
    assert all(first.at + first.seconds < second.at for first, second in pairwise(strikes))
    assert strikes[-1].at + strikes[-1].seconds < PLAN.seconds


def test_every_fault_comes_once_before_repeats_in_seeded_order() -> None:
    kinds = [strike.kind for strike in schedule(PLAN, list(FAULTS))]
    for start in range(0, len(kinds) - len(FAULTS), len(FAULTS)):
        assert set(kinds[start : start + len(FAULTS)]) == set(FAULTS)
    assert kinds == [strike.kind for strike in schedule(PLAN, list(FAULTS))]
    assert kinds != [strike.kind for strike in schedule(replace(PLAN, seed=2), list(FAULTS))]


def test_scripts_of_family_share_prompt_and_no_question() -> None:
    scripts = make_scripts(PLAN)
    assert len({script.system for script in scripts}) == PLAN.families
    assert len({question for script in scripts for question in script.questions}) == PLAN.scripts * PLAN.turns[1]


def test_different_answer_is_error_of_its_turn_only() -> None:
    one, other = make_scripts(PLAN)[:2]
    answers = Answers()
    answers.compare(one, 0, "a river")
    answers.compare(one, 1, "a lake")
    answers.compare(other, 0, "a sea")
    answers.compare(one, 0, "".join(["a ", "river"]))
    assert answers.compared == 1
    assert [answers.turns(script) for script in (one, other)] == [2, 1]
    with pytest.raises(NotAsExpectedError, match="script 0, turn 2: 'a sea' after 'a lake'"):
        answers.compare(one, 1, "a sea")


def done(content: str) -> Event:
    return Event("done", {"sequence_number": 3, "message": {"content": content}})


DELTA = Event("delta", {"sequence_number": 2, "text": "a river"})


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([DELTA, Event("error", {"error": {"message": "the engine failed"}})], "error event"),
        ([DELTA], "no last event"),
        ([done("")], "empty answer"),
        ([DELTA, done("a riv")], "another text stored"),
    ],
)
def test_incomplete_answer_is_error(events: list[Event], kind: str) -> None:
    heard = Heard()
    with pytest.raises(NotAsExpectedError) as error:  # noqa: PT012
        for event in events:
            heard.take(event)
        heard.whole()
    assert error.value.kind == kind


def test_complete_answer_returns_its_text() -> None:
    heard = Heard()
    for event in (DELTA, done("a river")):
        heard.take(event)
    assert (heard.whole(), heard.last) == ("a river", 3)


@pytest.mark.parametrize(("later", "drift"), [((100, 102, 101), 0.02), ((100, 96, 103), -0.04), ((100,), 0.0)])
def test_drift_is_largest_distance_from_settled_memory(later: tuple[int, ...], drift: float) -> None:
    samples = [MemorySample(0.0, 50 * MB), *(MemorySample(300.0 + 10 * at, rss * MB) for at, rss in enumerate(later))]
    assert summarise_memory(samples, 300.0).drift == pytest.approx(drift)


def test_memory_summary_without_samples_is_rejected() -> None:
    with pytest.raises(ValueError, match="never sampled after 300 s"):
        summarise_memory([MemorySample(0.0, MB)], 300.0)


def test_disk_sample_counts_blocks_and_other_files(tmp_path: Path) -> None:
    shard = tmp_path / "secret" / "model" / "00"
    shard.mkdir(parents=True)
    for name in ("a" * 64, "b" * 64, "c" * 64 + ".draft"):
        (shard / name).write_bytes(bytes(8192))
    (tmp_path / "secret" / "held").touch()
    sample = sample_disk(tmp_path, 5.0, 40)
    assert (sample.nbytes, sample.blocks, sample.others, sample.descriptors) == (3 * 8192, 2, 2, 40)


def test_descriptors_at_the_end_are_compared_with_settled_ones() -> None:
    samples = [DiskSample(float(at), 8192 * at, at, 4, 100 if at < 30 else 20 + at) for at in range(60)]
    found = summarise_disk(samples, 30.0)
    assert (found.nbytes, found.blocks, found.others) == (59 * 8192, 59, 4)
    assert found.descriptor_ratio == pytest.approx(74.5 / 54.5)
    with pytest.raises(ValueError, match="never sampled after 90 s"):
        summarise_disk(samples, 90.0)


def test_counts_are_read_by_label() -> None:
    counts = read_counts(
        "# TYPE ebb_prompt_tokens_total counter\n"
        'ebb_prompt_tokens_total{source="cpu"} 64.0\nebb_prompt_tokens_total{source="redis"} 128.0\n'
        "# TYPE ebb_self_checks_total counter\n"
        'ebb_self_checks_total{outcome="clean"} 2.0\nebb_self_checks_total{outcome="failed"} 1.0\n'
        "# TYPE ebb_generation_tokens_total counter\nebb_generation_tokens_total 9.0\n"
        '# TYPE ebb_tier_promised_bytes gauge\nebb_tier_promised_bytes{tier="disk"} 4096.0\n'
        '# TYPE ebb_tier_broken_promises_total counter\nebb_tier_broken_promises_total{tier="disk"} 2.0\n'
    )
    assert counts == Counts({"cpu": 64, "redis": 128}, 9, {"clean": 2, "failed": 1}, {}, 0, 4096, 2)
    assert counts.all_checks == 3


def test_requests_are_described_by_state() -> None:
    states = {"running": 8.0, "waiting": 55.0, "loading": 0.0}
    samples = "".join(f'ebb_requests{{state="{state}"}} {count}\n' for state, count in states.items())
    assert describe_requests("# TYPE ebb_requests gauge\n" + samples) == "8 running, 55 waiting"


def test_log_errors_and_tracebacks_are_bad_but_not_warnings(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "2026-01-01 10:00:00,000 INFO ebb.requests: run_1 length ERROR\n"
        "2026-01-01 10:00:01,000 WARNING cache_tiers.redis.breaker: Redis does not answer in time\n"
        "2026-01-01 10:00:02,000 ERROR engine.loop.engine_loop: a step failed\n"
        "Traceback (most recent call last):\n"
    )
    assert [line[:30] for line in bad_lines(log)] == [
        "2026-01-01 10:00:02,000 ERROR ",
        "Traceback (most recent call la",
    ]


GOOD = SoakReport(
    measured_on="2026-01-01",
    machine=Machine("a CPU", 2, 24.0, ("avx2",), "Linux x86_64", "3.11.7", {"redis": "8.1.0"}),
    plan=PLAN,
    conversations=700,
    turns=5000,
    asked={"listens": 5000},
    compared=4000,
    replayed=100,
    errors={},
    details=(),
    faults={"killed": 17},
    counts=Counts({"cpu": 64}, 9, {"clean": 5, "failed": 0}, {}, 0, promised_bytes=200 * MB),
    last_checks=1,
    memory=summarise_memory([MemorySample(300.0, 100 * MB), MemorySample(310.0, 102 * MB)], 300.0),
    disk=DiskSummary(1000 * MB, 700, 5, 1.0),
    disk_samples=(),
    memory_samples=(),
    bad_lines=(),
)


def test_soak_without_errors_passes() -> None:
    assert passed(GOOD)
    assert "## Client errors" not in to_markdown(GOOD)
    assert to_markdown(GOOD).endswith("**Met.**\n")


@pytest.mark.parametrize(
    ("missed", "bad"),
    [
        (0, replace(GOOD, errors={"HTTP 429": 1}, details=("HTTP 429: too much",))),
        (1, replace(GOOD, memory=replace(GOOD.memory, most=104 * MB))),
        (1, replace(GOOD, memory=replace(GOOD.memory, least=96 * MB))),
        (2, replace(GOOD, last_checks=0)),
        (3, replace(GOOD, counts=replace(GOOD.counts, checks={"clean": 5, "failed": 1}))),
        (4, replace(GOOD, disk=replace(GOOD.disk, nbytes=PLAN.disk_size * 11 // 10, blocks=700))),
        (5, replace(GOOD, disk=replace(GOOD.disk, others=40))),
        (6, replace(GOOD, disk=replace(GOOD.disk, descriptor_ratio=1.5))),
        (7, replace(GOOD, counts=replace(GOOD.counts, promised_bytes=0))),
        (8, replace(GOOD, counts=replace(GOOD.counts, broken_promises=1))),
        (9, replace(GOOD, bad_lines=("Traceback (most recent call last):",))),
    ],
)
def test_one_missed_target_fails_the_soak(missed: int, bad: SoakReport) -> None:
    assert [target.met for target in targets(bad)] == [number != missed for number in range(10)]
    assert not passed(bad)
    assert to_markdown(bad).endswith("**Missed.**\n")
