"""The words of texts and of queries, the same for each database.

A word is a run of letters, digits and vowel signs. Words are compared without case, accents and points (Straße =
STRASSE, é = e), and in their compatible forms (the ligature in ﬁne = fi, ① = 1). Letters that only look accented stay
different, such as カ and ガ. Each character of a script that is written without spaces is a word, and a run of them in
a query is a phrase.

Every character is folded by itself, after composition (NFC). So each folded character has a place in the original text,
and marks in snippets agree with the words in the index.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

INDEXED_CHARACTERS: Final = 262_144
"""Characters at the start of a text whose words are indexed. The rest cannot be found."""
INDEXED_BYTES: Final = 700_000
"""Maximum size of the words of a text in UTF-8. A `tsvector` has at most a megabyte, with a mark for each word."""
MAX_WORD: Final = 500
"""Characters of a word that are compared. A lexeme of PostgreSQL has at most 2,046 bytes."""

LEAST_PREFIX: Final = 2
"""Minimum length of a last word that also matches longer words. A single letter would match too many."""

PIECE_CHARACTERS: Final = 4096
"""Number of characters after which other threads may run. In one piece, a long text would hold the GIL for too long."""

UNSPACED: Final = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
    "\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese and Khmer, Han, Kana and Hangul, as a range of a regular expression."""

VOICING: Final = "\u3099\u309a"
"""Marks that make another Kana of the one before them."""

MAX_MARKS: Final = 30
"""Combining marks in a row that are kept: the bound of the Stream-Safe Text Format (UAX 15, section 13).

Composition sorts a run of marks, which takes the square of its length. No language needs more than a few.
"""

_BEGINS_WORD = "\\s\u1100-\u115f\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Characters before which a text may be cut: a word ends there, and none of them is composed with the one before."""
_PIECE = re.compile(
    f".{{1,{PIECE_CHARACTERS}}}(?=[{_BEGINS_WORD}]|\\Z)|.{{1,{PIECE_CHARACTERS}}}",
    re.DOTALL,
)
# A mark is no letter, digit or space. The pattern also finds other runs, of which no character is dropped.
_LONG_RUN = re.compile(rf"[^\w\s\0-\x7f]{{{MAX_MARKS + 1},}}")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_QUOTED = r"(?<!\S)[\"“„](?P<quoted>[^\"“”„]+)[\"”“](?!\S)"
_QUERY_PIECE = re.compile(rf"{_QUOTED}|\S+")
_ENDS_QUOTED = re.compile(rf"{_QUOTED}\Z")
_WORD = re.compile(f"[{UNSPACED}][{VOICING}]?|[^ {UNSPACED}]+")

_IGNORED = re.compile("[\u00ad\u034f\u180b-\u180f\u200d\u2060\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]")
"""Characters that are invisible within a word: soft hyphens, joiners, and selectors of variants."""
_SYMBOLS: Final = "\u2120\u2122"
"""Symbols whose compatible forms are letters (SM, TM) that belong to no word."""
_VOWEL_CLASSES: Final = frozenset({0, 8, 84, 91, 103, 118, 129, 130, 132})
"""Combining classes of marks that are vowels, or make another letter. All others are accents, tones and points."""
_CACHED_CHARACTERS: Final = 1 << 16


class _FoldedCharacters(dict[int, str]):
    """Folded form of each character, as `str.translate` takes it. Words are separated by spaces."""

    def __missing__(self, code: int) -> str:
        folded = _fold(chr(code))
        if len(self) < _CACHED_CHARACTERS:
            self[code] = folded
        return folded


def _fold(character: str) -> str:
    if "\uac00" <= character <= "\ud7a3":
        return character
    if character in _SYMBOLS:
        return " "
    compatible = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(map(_part_of_word, compatible))


def _part_of_word(character: str) -> str:
    """Return a decomposed character, a space if it separates words, or nothing if it makes no difference."""
    if character.isalnum():
        return character
    if _IGNORED.match(character):
        return ""
    category = unicodedata.category(character)
    if not category.startswith("M"):
        return " "
    is_vowel = category != "Me" and unicodedata.combining(character) in _VOWEL_CLASSES
    return character if is_vowel else ""


FOLDED: Final = _FoldedCharacters()
"""Folded form of each character of a composed text, by its code: none, one or several characters."""


@dataclass(frozen=True, slots=True)
class Phrase:
    """Consecutive words.

    is_unfinished: whether the last word may be the beginning of a longer one.
    """

    words: tuple[str, ...]
    is_unfinished: bool = False


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order, as they are indexed and compared.

    The work is done in pieces, between which the interpreter lets other threads run.
    """
    words, room = list[str](), INDEXED_BYTES
    for piece in _PIECE.finditer(text[:INDEXED_CHARACTERS]):
        found = _words_of_piece(piece[0])
        room -= len(" ".join(found).encode()) + 1
        if room < 0:
            break
        words += found
    return words


def segmented(text: str) -> str:
    """Return the words of a text, with a space between each two."""
    return " ".join(words_of(text))


def _words_of_piece(piece: str) -> list[str]:
    folded = composed(piece).translate(FOLDED)
    words: list[str] = folded.split() if folded.isascii() else _WORD.findall(folded)
    return [word[:MAX_WORD] for word in words]


def composed(text: str) -> str:
    """Return the composed form of a text (NFC), without the combining marks beyond MAX_MARKS in a row."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _LONG_RUN.sub(_without_excess_marks, text))


def _without_excess_marks(run: re.Match[str]) -> str:
    kept, marks = list[str](), 0
    for character in run[0]:
        marks = marks + 1 if unicodedata.category(character).startswith("M") else 0
        if marks <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def query_pieces(query: str) -> list[str]:
    """Split `query` where a person put spaces, without pieces that hold no letter or digit."""
    return [piece for piece in query.replace("\0", " ").split() if any(map(str.isalnum, piece))]


def may_be_unfinished(query: str) -> bool:
    """Return whether the last piece of `query` may be the beginning of a longer word."""
    pieces = query_pieces(query)
    return bool(pieces) and not query[-1:].isspace() and len(pieces[-1]) >= LEAST_PREFIX


def phrases_of(query: str) -> list[Phrase]:
    """Return the phrases that a text must contain to match `query`, in any order: one for each piece.

    Words between quotation marks are one piece, which is complete.
    """
    asked = query.replace("\0", " ")
    pieces = [
        words_of(piece["quoted"] or piece[0])
        for piece in _QUERY_PIECE.finditer(asked)
        if any(map(str.isalnum, piece[0]))
    ]
    phrases = [Phrase(tuple(words)) for words in pieces if words]
    if _ENDS_QUOTED.search(asked):
        return phrases
    if phrases and pieces[-1] and may_be_unfinished(query) and not is_unspaced(pieces[-1][-1]):
        phrases[-1] = Phrase(phrases[-1].words, is_unfinished=True)
    return phrases


def is_unspaced(word: str) -> bool:
    """Return whether a word is a character of a script that is written without spaces."""
    return _UNSPACED.match(word) is not None


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

    The index is asked for these spellings, a few hundred, rather than read for similar words. So the cost depends
    neither on the size of the index nor on the words of other tenants, and is the same in every database.

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
