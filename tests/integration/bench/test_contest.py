"""Contests between servers: idle ones are frozen, all are stopped at the end, and failed measurements are skipped."""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from app.load.client import Generation
from bench.peers import metrics
from bench.peers.arms import Arm, Setup
from bench.peers.contest import Contest
from bench.peers.metrics import decode_key, ttft_key, turn_key, turns_key
from bench.peers.plan import LongPlan, MixedPlan, PeersPlan, TurnsPlan
from bench.peers.points import SUITES, points
from bench.peers.prompts import PromptMaker
from bench.peers.record import Record
from bench.peers.server import Launch, PeerServer
from bench.server import ServerFailedError
from tests.sizes import TOOL
from tests.waiting import until
from tests.word_tokenizer import word_tokenizer

pytestmark = TOOL

SCRIPT = str(Path(__file__).parents[1] / "completions_server.py")
PLAN = PeersPlan(
    decode_streams=(1, 3),
    decode_tokens=5,
    ttft=((16, 2),),
    mixed=MixedPlan(streams=2, stream_tokens=40, arrivals=(8, 4), arrival_tokens=3, interval=0.001),
    turns=TurnsPlan(chats=2, turns=3, system_tokens=5, question_tokens=3, answer_tokens=4, resident_chats=1),
    long=LongPlan(prompt=12, streams=2, stream_prompt=9, stream_tokens=4),
)


@pytest.fixture
def make() -> PromptMaker:
    return PromptMaker(word_tokenizer())


def _launch(*arguments: str) -> Launch:
    return Launch((sys.executable, SCRIPT, "{port}", *arguments), "/health", 0)


def _arm(peer: str, serving: Launch, *others: Setup) -> Arm:
    return Arm(peer, "bf16", {Setup.SERVING: serving, **{setup: _launch("unused") for setup in others}}, Generation)


async def _all_are(processes: Sequence[psutil.Process], status: str) -> None:
    await asyncio.to_thread(until, lambda: {process.status() for process in processes} == {status})


def _has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


async def test_freezing_a_server_stops_its_children_until_thawed(tmp_path: Path) -> None:
    command = f"sleep 1000 & exec {sys.executable} {SCRIPT} {{port}}"
    server = PeerServer("one", Launch(("sh", "-c", command), "/health", 0), tmp_path / "log")
    before = set(psutil.Process().children(recursive=True))
    assert await server.start() > 0
    try:
        started = [each for each in psutil.Process().children(recursive=True) if each not in before]
        assert len(started) == 2
        assert server.rss_bytes() > sum(each.memory_info().rss for each in started) * 0.9

        server.freeze()
        await _all_are(started, psutil.STATUS_STOPPED)
        server.thaw()
        answer = await server.client.complete([1, 2], Generation(3))
        assert (answer.text, answer.tokens) == (" sea sea sea", 3)
        server.freeze()
    finally:
        await server.stop()
    await asyncio.to_thread(until, lambda: all(_has_ended(process) for process in started))


async def test_server_failing_at_start_is_reported_with_its_log(tmp_path: Path) -> None:
    server = PeerServer("one", Launch(("sh", "-c", "echo no such model; exit 3"), "/health", 0), tmp_path / "log")

    with pytest.raises(ServerFailedError, match="no such model"):
        await server.start()


async def test_round_measures_every_metric_of_every_arm(tmp_path: Path, make: PromptMaker) -> None:
    record, said = Record(), list[str]()
    others = (Setup.TURNS_IN_MEMORY, Setup.TURNS_SCARCE, Setup.LONG)
    arms = [_arm("one", _launch(), *others), _arm("other", _launch("unused"))]
    contest = Contest(arms, points(PLAN, make, SUITES), make, record, tmp_path, said.append)

    async with contest.started():
        await contest.measure_round(0, turns=True)
        await contest.measure_round(1, turns=False)

    for metric in (decode_key(1), decode_key(3), ttft_key(16, "cold"), ttft_key(16, "hit"), "mixed.itl_p99"):
        assert set(record.arms(metric)) == {"one bf16", "other bf16"}
        assert all(len(record.values(metric, arm)) == 2 for arm in record.arms(metric))
    rare = (turns_key(Setup.TURNS_SCARCE), turn_key(Setup.TURNS_IN_MEMORY, 3), metrics.LONG_TTFT, metrics.LONG_DECODE)
    for metric in rare:
        assert len(record.values(metric, "one bf16")) == 1
        assert not record.values(metric, "other bf16")
    assert set(record.arms(metrics.START)) == set(record.arms(metrics.RSS_READY)) == {"one bf16", "other bf16"}
    # The order of the arms alternates from round to round.
    firsts = [line for line in said if "decode at 1 ·" in line]
    assert [line.split(" · ")[2].split()[0] for line in firsts] == ["one", "other", "other", "one"]


async def test_failed_measurement_is_skipped_without_a_sample(tmp_path: Path, make: PromptMaker) -> None:
    fail = tmp_path / "fail"
    record, said = Record(), list[str]()
    contest = Contest(
        [_arm("one", _launch(str(fail)))], points(PLAN, make, ["decode"]), make, record, tmp_path, said.append
    )

    async with contest.started():
        fail.touch()
        await contest.measure_round(0, turns=False)

    assert [line.split(":")[0] for line in said if "FAILED" in line] == ["round 1 · decode at 1 · one bf16"]
    assert not record.values(decode_key(1), "one bf16")
    assert len(record.values(decode_key(3), "one bf16")) == 1
