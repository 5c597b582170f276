"""The words of texts and queries: how they are folded and divided, and FTS5 expressions that are always valid."""

import unicodedata

import pytest

from app.storage.search_words import (
    INDEXED_BYTES,
    MAX_MARKS,
    MAX_WORD,
    PIECE_CHARACTERS,
    Phrase,
    composed,
    phrases_of,
    words_of,
)
from app.storage.sqlite.text_index import match_expression


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("High and low tide, naïve façade", "high and low tide naive facade"),
        ("Straße STRASSE Größe", "strasse strasse grosse"),
        ("ﬁne ﬂow Ⅳ ① x² ﷺ", "fine flow iv 1 x2 صلى الله عليه وسلم"),
        ("ΣΊΣΥΦΟΣ σίσυφος йод İ", "σισυφοσ σισυφοσ иод i"),
        ("كِتَابٌ שָׁלוֹם", "كتاب שלום"),
        ("हिन्दी हिनदी के का", "हिनदी हिनदी के का"),
        ("日本のtea 물결", "日 本 の tea 물 결"),
        ("ガギ ｶﾞｷﾞ カ ｶ か\u3099", "ガ ギ ガ ギ カ カ が"),
        ("ภาษาไทย กุ ก", "ภ า ษ า ไ ท ย ก ุ ก"),
        ("Linux™ e-mail c++ a_b a\0b \ufdd0 😀", "linux e mail c a b a b"),
        ("Donau\u00addampf 葛\U000e0100城 1\ufe0f\u20e3", "donaudampf 葛 城 1"),
        ("x" * 600, "x" * MAX_WORD),
    ],
)
def test_words_are_folded_and_divided(text: str, words: str) -> None:
    decomposed = [unicodedata.normalize("NFD", word) for word in words_of(text)]
    assert decomposed == unicodedata.normalize("NFD", words).split()
    for form in ("NFC", "NFD"):
        assert words_of(unicodedata.normalize(form, text)) == words_of(text)


def test_marks_beyond_bound_are_dropped_from_long_runs() -> None:
    marks = "\u0316" * (MAX_MARKS + 5)
    assert composed(f"x{marks}y") == f"x{marks[:MAX_MARKS]}y"
    assert composed(f"—{'—' * 100}y") == f"—{'—' * 100}y"
    # Marks of different classes count together, and a letter begins a new run.
    mixed = "\u0301\u0316" * MAX_MARKS
    assert len(composed(f"x{mixed}q{mixed}")) == 2 * (MAX_MARKS + 1)


def test_every_character_that_is_reordered_counts_as_mark() -> None:
    reordered = [chr(code) for code in range(0x110000) if unicodedata.combining(chr(code))]
    assert len(reordered) > 800
    assert all(len(composed("x" + each * 100)) < 100 for each in reordered)


def test_no_character_breaks_the_form_of_words() -> None:
    for start in range(0, 0x110000, 0x10000):
        codes = (code for code in range(start, start + 0x10000) if not 0xD800 <= code < 0xE000)
        words = words_of(" ".join(map(chr, codes)))
        assert not set("".join(words)) & set(" '\"\\,\0\n"), hex(start)


def test_words_of_a_text_have_a_maximum_size() -> None:
    assert len(" ".join(words_of("\U0001e900\U0001e922 " * 80_000)).encode()) <= INDEXED_BYTES


@pytest.mark.parametrize(
    ("query", "expression"),
    [
        ("tide", '"tide"*'),
        ("high tide", '"high" AND "tide"*'),
        ("high tide ", '"high" AND "tide"'),
        ("a", '"a"'),
        ('say "hi" OR NOT', '"say" AND "hi" AND "or" AND "not"*'),
        ("title : x* ^y", '"title" AND "x" AND "y"*'),
        ("e-mail", '"e mail"*'),
        ("nul\0l", '"nul" AND "l"'),
        ("アカ", '"ア カ"'),
        ("--- ()", ""),
        ("\ufe70", ""),
    ],
)
def test_query_syntax_is_treated_as_words(query: str, expression: str) -> None:
    assert match_expression(query) == expression


def test_only_the_last_piece_of_a_query_is_unfinished() -> None:
    assert phrases_of("hi e-ma") == [Phrase(("hi",)), Phrase(("e", "ma"), is_unfinished=True)]
    assert phrases_of('a "Brown quick" fo') == [
        Phrase(("a",)),
        Phrase(("brown", "quick")),
        Phrase(("fo",), is_unfinished=True),
    ]
    assert phrases_of("“brown quick”") == [Phrase(("brown", "quick"))]
    # Marks that are not closed, and marks of inches, quote nothing.
    assert phrases_of('"brown qu') == [Phrase(("brown",)), Phrase(("qu",), is_unfinished=True)]
    assert phrases_of('5" or 7"') == [Phrase(("5",)), Phrase(("or",)), Phrase(("7",), is_unfinished=True)]
    assert phrases_of("ma \ufe70") == [Phrase(("ma",))]


@pytest.mark.parametrize(
    "unit", ["天气很好，", "high tide 日本 ", "が", "물결 ", "\u1112\u1161\u11ab", "e\u0301 ", "日tea"]
)
def test_pieces_have_same_words_as_whole_text(unit: str) -> None:
    times = 3 * PIECE_CHARACTERS // len(unit)
    assert words_of(unit * times) == words_of(unit) * times
