"""Fair division by weight: parts of an amount, and turns of a service."""

from collections import Counter
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cache_tiers.owners import fair_division
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.fair_division import ServiceAccounts, fair_shares
from cache_tiers.owners.fair_line import FairLine
from cache_tiers.owners.owners import Owners

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


NAMES = "abcde"
NAME_WEIGHTS = dict(zip(NAMES, (1.0, 3.0, 0.5, 2.0, 1.0), strict=True))
ACTIONS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 50), st.booleans()), max_size=60)


def served(fewest: int, actions: list[tuple[str, int, bool]]) -> list[str]:
    """Add an item for each action, and after some of them serve one. Return the names in the order of service."""
    owners = Owners(NAME_WEIGHTS)
    for name in NAMES:
        owners.note(Owner(name.encode()), name)
    names = []
    with patch.object(fair_division, "FEWEST", fewest):
        line: FairLine[int, int] = FairLine(owners)
        for number, (name, size, serves) in enumerate(actions):
            line.add(Owner(name.encode()), number, size)
            if serves and (turn := line.next()) is not None:
                line.serve(turn, turn.value)
                names.append(turn.owner.decode())
    return names


@given(ACTIONS)
def test_forgotten_accounts_change_no_order(actions: list[tuple[str, int, bool]]) -> None:
    assert served(0, actions) == served(1000, actions)


@given(ACTIONS)
def test_levels_never_fall_and_keep_the_sum_of_service(actions: list[tuple[str, int, bool]]) -> None:
    accounts = ServiceAccounts(NAME_WEIGHTS.__getitem__)
    total = Counter[str]()
    for name, amount, _ in actions:
        before = {each: accounts.level(each) for each in NAMES}
        accounts.charge(name, amount)
        total[name] += amount
        assert all(accounts.level(each) >= before[each] for each in NAMES)
    for name in NAMES:
        assert abs(accounts.level(name) * NAME_WEIGHTS[name] - total[name]) < 1e-6


@given(st.lists(st.integers(1, 50), min_size=20, max_size=60))
def test_waiting_names_are_served_by_weight_and_none_starves(sizes: list[int]) -> None:
    accounts = ServiceAccounts(NAME_WEIGHTS.__getitem__)
    for name in NAMES:
        accounts.join(name, 0.0)
    for size in sizes:
        accounts.charge(min(NAMES, key=accounts.level), size)
        levels = [accounts.level(name) for name in NAMES]
        assert max(levels) - min(levels) <= max(sizes) / min(NAME_WEIGHTS.values())


def test_forgotten_name_gains_nothing_by_its_absence() -> None:
    accounts = ServiceAccounts[str](lambda _: 1.0)
    for number in range(fair_division.FEWEST + 1):
        accounts.join(f"{number}", 7.0)
    accounts.forget(7.0, {"0"})
    assert (len(accounts), accounts.level("1")) == (1, 7.0)
    accounts.charge("1", 5.0)
    accounts.join("1", 9.0)
    assert accounts.level("1") == 12.0
