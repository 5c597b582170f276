"""Beginnings of calls in the text of an answer, by the same reading of it that clients receive."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engine.text.answer_text import AnswerFormat, AnswerText

_MORE: Final = 64
"""Characters of white space that an opening may have beyond its own."""

_PIECES: Final = re.compile(r"\s+|([{}\[\]:,()])")


@dataclass(frozen=True, slots=True)
class Openings:
    """Texts with which calls begin.

    lead: text with which all of them begin; a search for it is quick.
    pattern: matches one of them. The group of its number, if any, is the text to read in its place.
    texts: the openings as the grammar has them, by the number of the group from 1.
    longest: characters of the longest one.
    is_first: they count at the beginning of an answer only.
    """

    lead: str
    pattern: re.Pattern[str]
    texts: tuple[str, ...]
    longest: int
    is_first: bool

    @classmethod
    def of(cls, texts: Sequence[str], answer_format: AnswerFormat) -> "Openings":
        """Return the openings of a model.

        A mark that is one token begins a call by itself. Marks that several tokens spell are also mentioned in text, so
        a call is certain only with the name of a tool, whatever the white space between its words.

        texts: as `models.chat.tool_format.ToolFormat.openings`.
        """
        before_bare = answer_format.call_marks.starts if answer_format.call_marks.bare else None
        return _openings(tuple(texts), tuple(answer_format.marks.values()), before_bare)


@lru_cache(maxsize=128)
def _openings(texts: tuple[str, ...], marks: tuple[str, ...], before_bare: tuple[str, ...] | None) -> Openings:
    mark = next((mark for mark in marks if mark and texts[0].startswith(mark)), None)
    longest = max(map(len, texts)) + _MORE
    if mark is not None and before_bare is None:
        return Openings(mark, re.compile(re.escape(mark)), (), longest, is_first=False)
    pieces = [[piece for piece in _PIECES.split(text) if piece] for text in texts]
    lead = pieces[0][0] if len({each[0] for each in pieces}) == 1 else ""
    spaced = (r"\s*".join(map(re.escape, each)) for each in pieces)
    pattern = "|".join(f"({each})" for each in spaced)
    if before_bare is None:
        return Openings(lead, re.compile(pattern), texts, longest, is_first=False)
    before = "".join(rf"(?:{re.escape(start)})?\s*" for start in before_bare)
    return Openings("", re.compile(rf"\s*{before}(?:{pattern})"), texts, longest, is_first=True)


class CallFinder:
    """Finder of calls in one answer, token by token."""

    def __init__(self, answer: AnswerText, openings: Openings, encode: Callable[[str], list[int]]) -> None:
        """Look for calls.

        answer: reader of the answer. Calls are not looked for in its reasoning.
        encode: encodes text that continues other text, with control tokens by name.
        """
        self._answer = answer
        self._openings = openings
        self._encode = encode
        self._tail = ""
        self._is_over = False

    def push(self, token_id: int) -> list[int] | None:
        """Add a token. Return the ids of the call so far if one has begun, as its grammar reads them; else None."""
        if self._is_over:
            return None
        emitted, openings = self._answer.push(token_id), self._openings
        if emitted.is_thought or not emitted.text:
            return None
        self._tail += emitted.text
        if openings.lead not in self._tail:
            self._tail = self._tail[-len(openings.lead) :]
            return None
        found = openings.pattern.match(self._tail) if openings.is_first else openings.pattern.search(self._tail)
        if found is None:
            self._is_over = openings.is_first and len(self._tail) > openings.longest
            self._tail = self._tail[-openings.longest :]
            return None
        opening = openings.texts[found.lastindex - 1] if found.lastindex else found[0]
        text, self._tail, self._is_over = opening + self._tail[found.end() :], "", openings.is_first
        return self._encode(text)

    def skip(self, token_id: int) -> None:
        """Add a token of a call."""
        self._answer.push(token_id)
