"""Ratios within a benchmark run of Ebb alone, and their comparison with a baseline."""

import pytest

from bench.alone.ratios import WATCHED, Verdict, Watched, to_text, verdicts
from bench.peers.record import Record

FASTER = Watched("faster", "a over b", ("a", "x"), ("b", "x"), margin=0.1, higher_is_better=True)
SLOWER = Watched("slower", "b over a", ("b", "x"), ("a", "x"), margin=0.1)


def _record() -> Record:
    record = Record()
    for number, (a, b) in enumerate([(10.0, 5.0), (30.0, 10.0), (40.0, 10.0)]):
        record.add("a", "x", number, a)
        record.add("b", "x", number, b)
    record.add("a", "x", 3, 1_000.0)
    return record


def test_ratio_is_median_of_rounds_with_both_sides() -> None:
    assert FASTER.of(_record()) == 3.0
    assert SLOWER.of(_record()) == pytest.approx(1 / 3)
    assert FASTER.of(Record()) is None


@pytest.mark.parametrize(("value", "failed"), [(2.0, False), (1.85, False), (1.75, True), (3.0, False)])
def test_high_metric_fails_below_its_margin(value: float, failed: bool) -> None:
    assert Verdict(FASTER, value, 2.0).failed is failed


@pytest.mark.parametrize(("value", "failed"), [(2.0, False), (2.15, False), (2.25, True), (1.0, False)])
def test_low_metric_fails_above_its_margin(value: float, failed: bool) -> None:
    assert Verdict(SLOWER, value, 2.0).failed is failed


def test_ratio_without_baseline_or_value_is_shown_and_passes() -> None:
    found = verdicts(_record(), {"faster": 4.0}, [FASTER, SLOWER])
    found.append(Verdict(SLOWER, None, 1.0))

    assert [verdict.failed for verdict in found] == [True, False, False]
    lines = to_text(found).splitlines()
    assert lines[1].endswith("+25%     10%  WORSE")
    assert lines[2].split() == ["b", "over", "a", "0.333", "–", "–", "10%"]
    assert lines[3].split() == ["b", "over", "a", "–", "1.000", "–", "10%"]


def test_every_watched_ratio_has_unique_key_and_margin() -> None:
    assert len({watched.key for watched in WATCHED}) == len(WATCHED)
    assert all(0 < watched.margin < 0.5 for watched in WATCHED)
