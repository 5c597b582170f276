"""Ebb's side of `bench.tool_calls`: every case of every format, and the stored tables."""

import json

import pytest

from bench.report import RESULTS
from bench.tool_calls.answers import answers_of
from bench.tool_calls.cases import CALL_IN_PROSE
from bench.tool_calls.ebb_side import EbbReader
from bench.tool_calls.formats import FORMATS, Format
from bench.tool_calls.judge import fault_of
from bench.tool_calls.outcome import Outcome, ReadCall
from bench.tool_calls.report import ALL_WAYS, score, to_markdown, total
from tests.sizes import TOOL

pytestmark = TOOL


MARKS_ARE_TEXT = ("phi4-mini-functools", "olmo3")
"""Formats whose marks are not tokens, so that a call in prose is a call."""


@pytest.mark.parametrize("how", FORMATS, ids=[how.name for how in FORMATS])
def test_ebb_reads_every_answer(how: Format) -> None:
    words, answers = answers_of(how)
    reader = EbbReader(how, words)
    found = score(how, answers, {each.case.name: {way: reader.read(each, way) for way in ALL_WAYS} for each in answers})
    assert set(found["wrong"]) == ({CALL_IN_PROSE} if how.name in MARKS_ARE_TEXT else set())
    assert total(found, "late") == 0
    assert total(found, "right") >= (len(answers) - 1) * len(ALL_WAYS) > 100


def test_wrong_outcomes_are_found_wrong() -> None:
    how = next(how for how in FORMATS if how.name == "hermes")
    answers = {answer.case.name: answer for answer in answers_of(how)[1]}
    paris = ReadCall("get_weather", '{"days": 2, "city": "Paris"}')
    assert fault_of(Outcome("\n", [paris]), answers["one call"], how) is None
    assert fault_of(Outcome("</tool_call>", [paris]), answers["one call"], how) == "text"
    assert fault_of(Outcome("", [paris, paris]), answers["one call"], how) == "calls"
    assert fault_of(Outcome("", [paris], "KeyError"), answers["one call"], how) == "error"
    assert fault_of(Outcome("", [ReadCall("get_weather", '{"days": 2')]), answers["one call"], how) == "calls"
    words = ReadCall("save_note", '{"title": "true", "body": null}')
    assert fault_of(Outcome("", [words]), answers["strings like words of JSON"], how) == "calls"
    cut = ReadCall("get_weather", '{"days": 2, "city": "Reykja')
    assert fault_of(Outcome("", [cut]), answers["cut in a string"], how) is None
    closed = ReadCall("get_weather", '{"days": 2, "city": "Reykja"}')
    assert fault_of(Outcome("", [closed]), answers["cut in a string"], how) == "calls"


def test_stored_tables_are_made_from_the_stored_results() -> None:
    report = json.loads((RESULTS / "tool_calls.json").read_text())
    assert (RESULTS / "tool_calls.md").read_text() == to_markdown(report)
    assert [each["format"] for each in report["formats"]] == [how.name for how in FORMATS]
