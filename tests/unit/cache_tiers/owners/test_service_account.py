"""Accounts of start-time fair queueing, and the lines that use them."""

from collections import Counter
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from cache_tiers.owners import service_account
from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.fair_line import FairLine
from cache_tiers.owners.owners import Owners
from cache_tiers.owners.service_account import ServiceAccounts

NAMES = "abcde"
WEIGHTS = dict(zip(NAMES, (1.0, 3.0, 0.5, 2.0, 1.0), strict=True))
ACTIONS = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(1, 50), st.booleans()), max_size=60)


def served(fewest: int, actions: list[tuple[str, int, bool]]) -> list[str]:
    """Add an item for each action, and after some of them serve one. Return the names in the order of service."""
    owners = Owners(WEIGHTS)
    for name in NAMES:
        owners.note(Owner(name.encode()), name)
    names = []
    with patch.object(service_account, "FEWEST", fewest):
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
    accounts = ServiceAccounts(WEIGHTS.__getitem__)
    total = Counter[str]()
    for name, amount, _ in actions:
        before = {each: accounts.level(each) for each in NAMES}
        accounts.charge(name, amount)
        total[name] += amount
        assert all(accounts.level(each) >= before[each] for each in NAMES)
    for name in NAMES:
        assert abs(accounts.level(name) * WEIGHTS[name] - total[name]) < 1e-6


@given(st.lists(st.integers(1, 50), min_size=20, max_size=60))
def test_waiting_names_are_served_by_weight_and_none_starves(sizes: list[int]) -> None:
    accounts = ServiceAccounts(WEIGHTS.__getitem__)
    for name in NAMES:
        accounts.join(name, 0.0)
    for size in sizes:
        accounts.charge(min(NAMES, key=accounts.level), size)
        levels = [accounts.level(name) for name in NAMES]
        assert max(levels) - min(levels) <= max(sizes) / min(WEIGHTS.values())


def test_forgotten_name_gains_nothing_by_its_absence() -> None:
    accounts = ServiceAccounts[str](lambda _: 1.0)
    for number in range(service_account.FEWEST + 1):
        accounts.join(f"{number}", 7.0)
    accounts.forget(7.0, {"0"})
    assert (len(accounts), accounts.level("1")) == (1, 7.0)
    accounts.charge("1", 5.0)
    accounts.join("1", 9.0)
    assert accounts.level("1") == 12.0
