"""Statistics behind the published benchmark figures."""

import pytest

from app.load.client import parse_metrics
from app.load.rates import steady_gaps
from app.observability.percentiles import percentile
from bench.stats import median, share, spread


def test_percentile_interpolates_between_ranks() -> None:
    values = [40.0, 10.0, 30.0, 20.0]

    assert percentile(values, 0) == 10
    assert percentile(values, 50) == 25
    assert percentile(values, 95) == pytest.approx(38.5)
    assert percentile(values, 100) == 40


def test_median_of_five_values_is_the_third() -> None:
    assert median([9.0, 1.0, 5.0, 100.0, 2.0]) == 5


def test_spread_separates_tail_from_median() -> None:
    found = spread([1.0] * 98 + [50.0, 100.0])

    assert (found.count, found.median, found.low, found.high) == (100, 1, 1, 100)
    assert found.p95 == 1
    assert found.p99 == pytest.approx(50.5)


@pytest.mark.parametrize("statistic", [median, spread, share])
def test_statistics_of_no_values_raise(statistic: object) -> None:
    assert callable(statistic)
    with pytest.raises(ValueError, match="no "):
        statistic([])


def test_share_is_fraction_of_true_values() -> None:
    assert share([True, True, False, True]) == 0.75


def test_steady_gaps_cover_only_overlap_of_all_streams() -> None:
    early = [0.0, 5.0, 6.0, 7.0]
    late = [4.5, 5.5, 6.5, 9.0]

    # Both streams run from 4.5 (the late one begins) to 7.0 (the early one ends), so gaps 0 -> 5 and 6.5 -> 9 are out.
    assert steady_gaps([early, late]) == [1.0, 1.0, 1.0, 1.0]


def test_disjoint_streams_have_no_steady_gaps() -> None:
    assert steady_gaps([[0.0, 1.0], [2.0, 3.0]]) == []


def test_metrics_are_summed_over_labels() -> None:
    text = (
        "# HELP hits Tokens.\n# TYPE hits counter\n"
        'hits_total{tier="cpu"} 128\nhits_total{tier="redis, or {not}"} 6.4e+1 1700000000000\n'
        "lag_seconds 0.25\nnot a sample line\n"
    )

    assert parse_metrics(text) == {"hits_total": 192, "lag_seconds": 0.25}
