"""Promises of the engine: what the end of an answer says, and that the disk has it."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cache_tiers.disk.session import DiskSession
from cache_tiers.disk.value_file import file_bytes
from cache_tiers.lower.promise import Promised
from engine.api.generate_request import GenerateRequest
from engine.api.promise import PromiseReport, PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.config import EngineConfig
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, block_nbytes, engine_config
from tests.leaks import assert_no_leaks

pytestmark = pytest.mark.usefixtures("patient_loads")

PROMPT = [1000 + 7 * at for at in range(4 * BLOCK + 10)]
HOUR = 3600.0
PLENTY = 1 << 30


def config_of(model: Path, folder: Path, *, disk: bool = True) -> EngineConfig:
    return engine_config(model, folder / "state", redis_url="off", disk=disk)


@pytest.fixture
def llm(shallow_model: Path, tmp_path: Path) -> Iterator[LLM]:
    with LLM(config_of(shallow_model, tmp_path)) as llm:
        yield llm


def ask(
    llm: LLM, num_tokens: int = len(PROMPT), reserved_bytes: int = PLENTY, *, keep_kv: bool = True
) -> PromiseReport:
    """Ask for one token. Return what is promised."""
    request = GenerateRequest(
        prompt_token_ids=PROMPT,
        params=SamplingParams(temperature=0.0, max_tokens=1),
        promise=PromiseRequest(num_tokens, HOUR, reserved_bytes),
        keep_kv=keep_kv,
    )
    queued = llm.engine.add_request(request)
    usage = llm._run([queued.request_id])[queued.request_id].usage
    assert usage is not None
    assert usage.kv.promise is not None
    return usage.kv.promise


def test_full_blocks_of_the_prompt_are_promised(llm: LLM, tmp_path: Path) -> None:
    report = ask(llm)
    assert (report.num_tokens, report.num_declined, report.reason) == (4 * BLOCK, 0, None)
    assert abs(report.until - time.time() - HOUR) < 10
    until = [path.stat().st_atime for path in (tmp_path / "state").rglob("*") if len(path.name) == 64]
    assert sum(each > time.time() + HOUR - 10 for each in until) == 4
    assert_no_leaks(llm.engine)


def test_promise_covers_what_was_marked(llm: LLM) -> None:
    report = ask(llm, 3 * BLOCK - 1)
    assert (report.num_tokens, report.num_declined, report.reason) == (2 * BLOCK, 0, None)


def test_full_reservation_declines_the_rest(llm: LLM, shallow_model: Path) -> None:
    report = ask(llm, reserved_bytes=3 * file_bytes(block_nbytes(shallow_model)) + 1000)
    assert (report.num_tokens, report.num_declined, report.reason) == (3 * BLOCK, BLOCK, "reservation_full")


def test_what_cannot_be_promised_says_why(llm: LLM) -> None:
    assert ask(llm, BLOCK - 1).reason == "too_short"
    assert ask(llm, reserved_bytes=0).reason == "no_reservation"
    assert ask(llm, keep_kv=False).reason == "not_kept"


def test_engine_without_a_disk_declines(shallow_model: Path, tmp_path: Path) -> None:
    with LLM(config_of(shallow_model, tmp_path, disk=False)) as llm:
        report = ask(llm)
    assert (report.num_tokens, report.num_declined, report.reason) == (0, 4 * BLOCK, "no_disk")


def test_engine_without_tiers_declines(shallow_model: Path, tmp_path: Path) -> None:
    with LLM(engine_config(shallow_model, tmp_path / "state", prefix_cache=False)) as llm:
        assert ask(llm).reason == "not_kept"


def test_disk_that_gives_no_answer_delays_nothing_further(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    answers, ended = threading.Event(), threading.Event()

    def promise(*_: object) -> Promised:
        answers.wait(30)
        ended.set()
        return Promised(0, "absent")

    monkeypatch.setattr(DiskSession, "promise", promise)
    assert ask(llm).reason == "disk_away"
    assert not ended.is_set(), "the answer waited for the disk"
    answers.set()


def test_blocks_that_arrive_late_are_declined(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiskSession, "promise", lambda *_: Promised(0, "absent"))
    report = ask(llm)
    assert (report.num_tokens, report.num_declined, report.reason) == (0, 4 * BLOCK, "not_written")


def test_promised_prefix_is_found_after_a_restart(shallow_model: Path, tmp_path: Path) -> None:
    with LLM(config_of(shallow_model, tmp_path)) as llm:
        ask(llm)
    with LLM(config_of(shallow_model, tmp_path)) as llm:
        [answer] = llm.generate([PROMPT], SamplingParams(max_tokens=1))[0].outputs
    assert answer.usage.kv.reused["disk"] == 4 * BLOCK
