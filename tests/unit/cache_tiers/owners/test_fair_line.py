"""A line in which owners take turns by their weights."""

from cache_tiers.owners.block_key import Owner
from cache_tiers.owners.fair_line import FairLine
from cache_tiers.owners.owners import Owners

A, B = Owner(b"a"), Owner(b"b")


def serve(line: FairLine[str, int], count: int) -> str:
    """Serve `count` items and return their keys."""
    keys = ""
    for _ in range(count):
        turn = line.next()
        assert turn is not None
        line.serve(turn, turn.value)
        keys += turn.key
    return keys


def make_line(owners: Owners | None = None) -> FairLine[str, int]:
    line: FairLine[str, int] = FairLine(owners or Owners())
    for key in "abcdef":
        line.add(A, key, 1)
    return line


def test_owner_that_joins_late_shares_turns_from_then_on() -> None:
    line = make_line()
    assert serve(line, 2) == "ab"
    for key in "xyz":
        line.add(B, key, 1)
    assert sorted(serve(line, 4)) == ["c", "d", "x", "y"]
    assert sorted(serve(line, 3)) == ["e", "f", "z"]
    assert line.next() is None
    assert len(line) == 0


def test_weights_divide_turns() -> None:
    owners = Owners({"b": 2.0})
    owners.note(B, "b")
    line = make_line(owners)
    for key in "uvwxyz":
        line.add(B, key, 1)
    assert len(set(serve(line, 6)) & set("uvwxyz")) == 4


def test_sizes_count_for_turns() -> None:
    line = make_line()
    for key in "xyz":
        line.add(B, key, 3)
    assert len(set(serve(line, 4)) & set("xyz")) == 1


def test_owner_that_empties_its_line_keeps_its_account() -> None:
    """An owner that always has one item waiting takes every second turn, not every one."""
    line, served = make_line(), ""
    for number in range(6):
        if not line.has(B, "x"):
            line.add(B, "x", 1)
        served += serve(line, 1)
        assert len(line) > 0, number
    assert served.count("x") == 3


def test_owners_can_be_passed_over() -> None:
    line = make_line()
    line.add(B, "x", 1)
    turn = line.next({A})
    assert turn is not None
    assert (turn.owner, turn.key) == (B, "x")
    assert line.next({A, B}) is None
    assert line.remove(A, "a") == 1
    assert line.remove(A, "a") is None
    assert line.newest(A).key == "f"


def test_accounts_of_past_owners_are_forgotten() -> None:
    line: FairLine[str, int] = FairLine(Owners())
    for number in range(1000):
        line.add(Owner(b"%d" % number), "x", 1)
        serve(line, 1)
    assert len(line._accounts) < 100
