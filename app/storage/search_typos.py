"""Spellings that a mistyped word may have been meant as: those at one edit, in the alphabet of the word.

The index is asked for these spellings, a few hundred, rather than read for similar words. So the cost depends neither
on the size of the index nor on the words of other tenants, and is the same in every database.
"""

import re
from collections.abc import Iterator
from typing import Final

LEAST_LETTERS: Final = 4
"""Minimum length of a word that is corrected. Too many other words are one edit from a shorter one."""
MOST_LETTERS: Final = 24

_ALPHABETS: Final = (
    (re.compile("[a-z\u00df-\u024f]+"), "abcdefghijklmnopqrstuvwxyz"),
    (re.compile("[\u03ac-\u03ce]+"), "αβγδεζηθικλμνξοπρςστυφχψω"),
    (re.compile("[\u0430-\u045f]+"), "абвгдежзийклмнопрстуфхцчшщъыьэюя"),
)
"""Scripts and their letters without accents, which the index ignores."""


def spellings(word: str) -> list[str]:
    """Return the words at one edit from `word`, the likeliest edits first; none if it is not corrected.

    An edit swaps two neighbouring letters, or drops, replaces or adds one (Damerau, 1964).
    """
    folded = word.lower()
    letters = next((letters for script, letters in _ALPHABETS if script.fullmatch(folded)), None)
    if letters is None or not LEAST_LETTERS <= len(folded) <= MOST_LETTERS:
        return []
    return list(dict.fromkeys(each for each in _edited(folded, letters) if each != folded))


def _edited(word: str, letters: str) -> Iterator[str]:
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    yield from (start + end[1] + end[0] + end[2:] for start, end in splits if len(end) > 1)
    yield from (start + end[1:] for start, end in splits if end)
    yield from (start + letter + end for start, end in splits for letter in letters)
    yield from (start + letter + end[1:] for start, end in splits if end for letter in letters)
