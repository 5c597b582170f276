"""What a person typed becomes a query that cannot break, and what was found becomes ranges."""

import pytest

from app.storage.search_words import MATCH_BEGINS, MATCH_ENDS, SEPARATOR, Snippet, match_expression, segmented


def test_text_with_spaces_stays_as_it_is() -> None:
    assert segmented("High and low tide, naïve façade") == "High and low tide, naïve façade"


def test_each_character_of_an_unspaced_script_is_a_word() -> None:
    assert segmented("日本のtea").split(SEPARATOR) == ["日", "本", "の", "tea"]
    assert segmented("물결").split(SEPARATOR) == ["물", "결"]


def test_what_looks_the_same_is_the_same() -> None:
    assert segmented("が") == segmented("か\u3099")


def test_marks_of_findings_cannot_be_smuggled_in() -> None:
    assert MATCH_BEGINS not in segmented(f"a{MATCH_BEGINS}b{MATCH_ENDS}")


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
        ("--- ()", None),
    ],
)
def test_nothing_that_is_typed_has_a_meaning_but_its_words(query: str, expression: str | None) -> None:
    assert match_expression(query) == expression


def test_matches_are_counted_as_javascript_counts() -> None:
    marked = f"🌊 the {MATCH_BEGINS}high{MATCH_ENDS} {MATCH_BEGINS}日{SEPARATOR}本{MATCH_ENDS}…"
    snippet = Snippet.parse(marked)
    assert snippet == Snippet("🌊 the high 日本…", ((7, 11), (12, 14)))
    assert snippet.to_json() == {"text": "🌊 the high 日本…", "matches": [[7, 11], [12, 14]]}


def test_a_snippet_without_matches_is_text() -> None:
    assert Snippet.parse("plain") == Snippet("plain", ())
