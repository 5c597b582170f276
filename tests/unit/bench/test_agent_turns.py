"""Ratios of `bench.agent_turns`."""

import pytest

from app.load.answer import Answer, TokenUsage
from bench.agent_turns import Pair, Row, rate_of, table


def row(*ratios: float, bound: float = 1.2, at_least: bool = False) -> Row:
    return Row("first token after a compaction", [Pair(ratio * 0.5, 0.5) for ratio in ratios], bound, at_least)


def test_rate_leaves_out_time_to_first_text() -> None:
    usage = TokenUsage(10, 5, None, None)
    assert rate_of(Answer("abc", "length", 0.0, 9.0, (3.0, 4.0, 5.0), usage)) == pytest.approx(2.0)


def test_table_has_the_median_and_its_target() -> None:
    text = table([row(1.0, 1.1, 9.0), row(1.0, 1.3, 1.3), row(0.99, 0.97, 0.99, bound=0.98, at_least=True)])
    lines = text.splitlines()[2:]
    assert [line.split("|")[3].strip() for line in lines] == ["1.100", "1.300", "0.990"]
    assert [line.split("|")[6].strip() for line in lines] == ["met", "missed", "met"]
    assert "at most 1.2" in lines[0]
    assert "at least 0.98" in lines[2]
