from bench.stateless import KINDS, Row, Turn, table
from bench.stateless_prompt import Making


def test_a_row_sums_its_turns_and_the_last_one_has_the_target() -> None:
    turns = [Turn("code", 640, 640, 320), Turn("code", 360, 330, 360)]
    row = Row.of("all", turns)
    assert (row.turns, row.reusable, row.ratio, row.ratio_again) == (2, 1000, 0.97, 0.68)
    making = Making(tokens=30_000, messages=100, known_ms=5.0, restarted_ms=6.0, unknown_ms=70.0)
    assert "| all | 2 | 1,000 | 970 | 97.00% | 68.00% |" in table([row], making)
    assert table([row], making).count("at least 98% of all: missed.")
    assert table([row, Row.of("all", turns[:1])], making).count("at least 98% of all: met.")


def test_every_other_turn_asks_something_new() -> None:
    assert all(len(set(kind.questions)) == len(kind.questions) for kind in KINDS)
