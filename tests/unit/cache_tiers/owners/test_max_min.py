"""Weighted max-min division: the sum is kept, nothing goes to waste, and no key starves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_tiers.owners.max_min import fair_shares

WEIGHTS = {"a": 1.0, "b": 3.0, "c": 0.5, "d": 2.0, "e": 100.0}
WANTED = st.dictionaries(st.sampled_from(sorted(WEIGHTS)), st.integers(0, 200), min_size=1)
ROOM = st.integers(0, 300)


@pytest.mark.parametrize(
    ("room", "wanted", "shares"),
    [
        (100, {"a": 500}, {"a": 100}),
        (100, {"a": 500, "b": 40}, {"a": 60, "b": 40}),
        (100, {"a": 500, "b": 500}, {"a": 50, "b": 50}),
        (80, {"a": 500, "heavy": 500}, {"a": 20, "heavy": 60}),
        (80, {"a": 500, "heavy": 10}, {"a": 70, "heavy": 10}),
        (3, {"a": 1, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": 1}),
    ],
)
def test_fair_shares_follow_demand_and_weight(room: int, wanted: dict[str, int], shares: dict[str, int]) -> None:
    assert fair_shares(room, wanted, lambda name: 3.0 if name == "heavy" else 1.0) == shares


def shares_of(room: int, wanted: dict[str, int]) -> dict[str, int]:
    return fair_shares(room, wanted, WEIGHTS.__getitem__)


@given(ROOM, WANTED)
def test_all_is_divided_and_none_gets_more_than_it_wants(room: int, wanted: dict[str, int]) -> None:
    shares = shares_of(room, wanted)
    assert sum(shares.values()) == min(room, sum(wanted.values()))
    assert all(0 <= shares[name] <= wanted[name] for name in wanted)


@given(ROOM, WANTED)
def test_none_starves(room: int, wanted: dict[str, int]) -> None:
    shares = shares_of(room, wanted)
    if room >= len(wanted):
        assert all(shares[name] > 0 for name in wanted if wanted[name])
    level = room / sum(WEIGHTS[name] for name in wanted)
    for name in wanted:
        assert shares[name] >= min(wanted[name], level * WEIGHTS[name]) - len(wanted), "less than its weight's part"


@given(ROOM, WANTED)
def test_more_room_takes_nothing_away(room: int, wanted: dict[str, int]) -> None:
    fewer, more = shares_of(room, wanted), shares_of(room + len(wanted), wanted)
    assert all(more[name] >= fewer[name] - 1 for name in wanted)


@given(ROOM, WANTED)
def test_share_of_one_that_is_cut_is_the_largest_for_its_weight(room: int, wanted: dict[str, int]) -> None:
    shares = shares_of(room, wanted)
    levels = {name: shares[name] / WEIGHTS[name] for name in wanted}
    for name in wanted:
        if shares[name] < wanted[name] and room >= len(wanted):
            slack = len(wanted) * max(1 / WEIGHTS[each] for each in wanted)
            assert all(levels[each] <= levels[name] + slack for each in wanted)
