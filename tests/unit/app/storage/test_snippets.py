"""Snippets: which piece of a text is shown, and where in it the words of the query are."""

from random import Random

import pytest

from app.storage.search_words import words_of
from app.storage.snippets import CHARACTERS, SnippetMaker


def marked(query: str, text: str) -> list[str]:
    """Return what a snippet of `text` shows as found."""
    snippet = SnippetMaker(query).snippet(text)
    utf16 = snippet.text.encode("utf-16-le", "surrogatepass")
    return [utf16[2 * start : 2 * end].decode("utf-16-le") for start, end in snippet.matches]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("tide HIGH ", "The high Tide", ["high", "Tide"]),
        ("tid", "tides and tidal", ["tides", "tidal"]),
        ("tid ", "tides and tidal", []),
        ("creme brulee", "Crème brûlée", ["Crème", "brûlée"]),
        ("東京", "明日の東京の天気", ["東京"]),
        ("🌊 tide ", "🌊🌊 tide", ["tide"]),
        ("foo-bar", "foo bar, foo-bar, foobar", ["foo bar", "foo-bar"]),
        ("--- ()", "anything", []),
        ("strasse", "Die Straße, STRASSE", ["Straße", "STRASSE"]),
        ("strase strasse", "Straße", ["Straße"]),
        ("fine iv", "ﬁne Ⅳ", ["ﬁne", "Ⅳ"]),
        ("كتاب", "هو كِتَابٌ", ["كِتَابٌ"]),
        ("हिनदी", "हिन्दी में", ["हिन्दी"]),
        ("カ", "ガギ、カ", ["カ"]),
        ("ガ", "ｶﾞ", ["ｶﾞ"]),
        ("アカ", "アガ アカ", ["アカ"]),
        ("creme", "cre\u0300me\u0316!", ["crème\u0316"]),
        ("word", "a\0word", ["word"]),
    ],
)
def test_found_words_are_marked_in_utf16_units(query: str, text: str, found: list[str]) -> None:
    assert marked(query, text) == found


def test_place_with_most_different_words_is_shown() -> None:
    text = "tide " * 20 + "x " * 400 + "the high tide of the year" + " y" * 400
    snippet = SnippetMaker("high tide ").snippet(text)
    assert "the high tide of the year" in snippet.text
    assert snippet.text.startswith("…")
    assert snippet.text.endswith("…")
    assert len(snippet.text) <= CHARACTERS + 2


def test_finding_behind_the_first_chunk_is_shown() -> None:
    assert marked("lighthouse", "word " * 10_000 + "lighthouse") == ["lighthouse"]


def test_text_without_findings_shows_its_beginning() -> None:
    snippet = SnippetMaker("tide").snippet("word " * 1000)
    assert (snippet.matches, snippet.text.endswith("…"), len(snippet.text) <= CHARACTERS + 1) == ((), True, True)
    assert SnippetMaker("tide").snippet("plain").text == "plain"


@pytest.mark.parametrize("seed", range(20))
def test_every_word_of_a_text_is_marked_in_it(seed: int) -> None:
    letters = Random(seed)
    pool = "aßẞﬁⅣ①ée\u0301\u0316Σςй東ガカｶﾞｷ\u3099हिन्दी\u0939كِتَابٌภุ한\u1112\u1161\u11abİı™-_ .\0\u00ad😀"
    text = "".join(letters.choices(pool, k=60))
    for word in {each for each in words_of(text) if any(map(str.isalnum, each))}:
        assert marked(f"{word} ", text), (word, text)


def test_nul_is_shown_as_replacement_character() -> None:
    assert SnippetMaker("b").snippet("a\0b").text == "a\ufffdb"


def test_repeated_word_takes_time_that_grows_with_text() -> None:
    """Fifty thousand findings took the index's own snippet function 15 seconds."""
    snippet = SnippetMaker("zz").snippet("zz " * 51_200)
    assert len(snippet.matches) <= CHARACTERS
