"""Patterns of lines, as users write them."""

import pytest

from app.config.line_patterns import MAX_PATTERN, MAX_PATTERNS, parse_line_patterns


def test_patterns_are_split_at_commas() -> None:
    assert parse_line_patterns("Trace id: *, Turn * of * ,Beta build") == ("Trace id: *", "Turn * of *", "Beta build")


def test_pattern_may_begin_with_stars_of_the_line() -> None:
    assert parse_line_patterns(r"\*\*Mood\*\*: *") == (r"\*\*Mood\*\*: *",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "begin with at least"),
        ("Trace id: *,", "begin with at least"),
        ("*", "begin with at least"),
        ("a b*", "begin with at least"),
        ("one\ntwo", "more than one line"),
        ("x" * (MAX_PATTERN + 1), "has more than"),
        (",".join(["line*"] * (MAX_PATTERNS + 1)), "are more than"),
    ],
)
def test_invalid_pattern_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_line_patterns(text)
