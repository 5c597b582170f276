"""Translation of typed text into FTS5 queries that are always valid, and of indexed text into words."""

import re
import unicodedata

import pytest

from app.storage.search_words import MAX_MARKS, PIECE_CHARACTERS, SEPARATOR, segmented
from app.storage.sqlite.text_index import match_expression


def test_text_with_spaces_is_unchanged() -> None:
    assert segmented("High and low tide, naïve façade") == "High and low tide, naïve façade"


def test_each_character_of_unspaced_script_is_a_word() -> None:
    assert segmented("日本のtea").split(SEPARATOR) == ["日", "本", "の", "tea"]
    assert segmented("물결").split(SEPARATOR) == ["물", "결"]


def test_equivalent_unicode_forms_are_equal() -> None:
    assert segmented("が") == segmented("か\u3099")


def test_marks_beyond_bound_are_dropped_from_long_runs() -> None:
    marks = "\u0316" * (MAX_MARKS + 5)
    assert segmented(f"x{marks}y") == f"x{marks[:MAX_MARKS]}y"
    assert segmented(f"—{'—' * 100}y") == f"—{'—' * 100}y"
    # Marks of different classes count together, and a letter begins a new run.
    mixed = "\u0301\u0316" * MAX_MARKS
    assert len(segmented(f"x{mixed}q{mixed}")) == 2 * (MAX_MARKS + 1)


def test_every_character_that_is_reordered_counts_as_mark() -> None:
    reordered = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    assert len(reordered) > 800
    assert all(len(segmented("x" + each * 100)) < 100 for each in reordered)


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("tide", '"tide"*'),
        ("high tide", '"high" AND "tide"*'),
        ("high tide ", '"high" AND "tide"'),
        ("a", '"a"'),
        ('say "hi" OR NOT', '"say" AND """hi""" AND "OR" AND "NOT"*'),
        ("title : x* ^y", '"title" AND "x*" AND "^y"*'),
        ("nul\0l", '"nul" AND "l"'),
        ("--- ()", ""),
    ],
)
def test_query_syntax_is_treated_as_words(query: str, expression: str) -> None:
    assert match_expression(query) == expression


@pytest.mark.parametrize(
    "unit", ["天气很好，", "high tide 日本 ", "が", "물결 ", "\u1112\u1161\u11ab", "e\u0301 ", "日tea"]
)
def test_pieces_have_same_words_as_whole_text(unit: str) -> None:
    text = unit * (3 * PIECE_CHARACTERS // len(unit))
    assert words_of(segmented(text)) == words_of(segmented(unit)) * (3 * PIECE_CHARACTERS // len(unit))


def words_of(text: str) -> list[str]:
    return [word for word in re.split(f"[{SEPARATOR} ，]+", text) if word]
