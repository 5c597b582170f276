"""Conversion of long texts to token ids in slices, with the ids that the whole text would have.

A text is cut only at places that no token spans, so the two sides are independent:

- Byte-level vocabularies split a text into words before they merge anything, and a word never holds a space after
  another character.
- In vocabularies without words (SentencePiece, Llama 2) each merge gives a token of the vocabulary. A place whose
  neighbouring characters stand side by side in no token is never merged over.

`Slices` looks for both in the vocabulary, and then compares sliced with whole encodings of samples. A tokenizer that
does not pass is used on whole texts, whose length is bounded instead.
"""

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from models.errors import TextTooLongError

SLICE: Final = 1 << 13
"""Number of characters of one slice, which takes a millisecond or two."""

MAX_SPANNING: Final = 64
"""Maximum number of tokens that span a kind of place. With more of them, no text is cut at places of that kind."""

SPACES: Final = re.compile(r"(?<=\S) ")
MARKS: Final = re.compile(
    r"(?<=\S) |(?<=[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3])"
    r"(?=[\uff0c\u3002\u3001\uff1b\uff1a\uff1f\uff01])"
)
"""Places between a word and a space, and also between an ideograph, kana or hangul and a full-width mark."""

LEFT: Final = ("word", "Zoë", "42", "don't", "x.", "(!", "e\u0301", "你好", "カナ", "\tIt's", "a\n\nb", "🙂", "-_-")
RIGHT: Final = (
    " next",
    "  two",
    " 7",
    " 's",
    " \n x",
    " 世界",
    " ...",
    " \U0001f642",
    " \u0301a",
    "，那",
    "。\n你",
    "！x",
)

Encode = Callable[[str], list[int]]


@dataclass(frozen=True, slots=True)
class Slices:
    """Places at which texts of one tokenizer are cut.

    longest_uncut: characters that are encoded at once where there is no place to cut.
    most_ids: beyond which no text is encoded; None: any.
    cut: matches where a text may be cut; None: nowhere.
    spanning: texts inside which `cut` does not count. anchor: text that is encoded before each slice but the first.
    """

    longest_uncut: int
    most_ids: int | None = None
    cut: re.Pattern[str] | None = None
    spanning: tuple[str, ...] = ()
    anchor: str = ""
    num_anchor_ids: int = 0

    @classmethod
    def find(
        cls,
        encode: Encode,
        token_texts: Sequence[str],
        *,
        control: Iterable[str] = (),
        longest_uncut: int,
        most_ids: int | None = None,
    ) -> "Slices":
        """Determine where texts may be cut.

        token_texts: every token that a text can produce. control: tokens after which a text begins again.
        """
        behind_control = tuple(f"{text} " for text in control)
        for cut in (MARKS, SPACES):
            spanning = tuple(text for text in token_texts if cut.search(text, 1))
            # A vocabulary that puts a space before every text puts none between a line's end and what follows.
            for anchor, uncut in (("", spanning), ("\n", spanning + behind_control)):
                slices = cls(longest_uncut, most_ids, cut, uncut, anchor, len(encode(anchor)) if anchor else 0)
                if len(uncut) <= MAX_SPANNING and slices._is_exact_on_samples(encode):
                    return slices
        return cls(longest_uncut, most_ids)

    def encode(self, encode: Encode, text: str) -> list[int]:
        """Return the ids of `text`. Raise TextTooLongError beyond `most_ids`, as soon as that is known."""
        if len(text) <= SLICE:
            return encode(text)
        ids, start = list[int](), 0
        while start < len(text):
            end = self._end_of_slice(text, start)
            if end - start > 2 * SLICE:
                self._judge_beginning(encode, text[start:end])
            ids += self._ids(encode, text[start:end], is_first=start == 0)
            check_length(len(ids), self.most_ids)
            start = end
        return ids

    def _ids(self, encode: Encode, piece: str, *, is_first: bool) -> list[int]:
        return encode(piece) if is_first else encode(self.anchor + piece)[self.num_anchor_ids :]

    def _is_exact_on_samples(self, encode: Encode) -> bool:
        return all(self._is_exact(encode, left + right) for left, right in product(LEFT, RIGHT))

    def _is_exact(self, encode: Encode, text: str) -> bool:
        whole = encode(text)
        return all(
            whole == encode(text[:place]) + self._ids(encode, text[place:], is_first=False)
            for place in self._places(text, 1, len(text))
        )

    def _end_of_slice(self, text: str, start: int) -> int:
        """Find the last place to cut within a slice, else the first one behind it."""
        near = self._places(text, start + 1, start + SLICE)
        if near and start + SLICE < len(text):
            return near[-1]
        # In pieces, since a search holds the interpreter.
        for at in range(start + SLICE, min(len(text), start + self.longest_uncut), SLICE):
            if places := self._places(text, at, at + SLICE):
                return places[0]
        if len(text) - start > self.longest_uncut:
            raise TextTooLongError(
                f"it has more than {self.longest_uncut} characters in a row that this model's tokenizer cannot split"
            )
        return len(text)

    def _places(self, text: str, start: int, end: int) -> list[int]:
        """Find the places in [start, end) at which `text` may be cut."""
        if self.cut is None:
            return []
        places = [hit.start() for hit in self.cut.finditer(text, start, min(end, len(text)))]
        return [place for place in places if not self._is_spanned(text, place)] if self.spanning else places

    def _is_spanned(self, text: str, place: int) -> bool:
        return any(
            text.find(spanning, max(0, place - len(spanning) + 1), place + len(spanning) - 1) >= 0
            for spanning in self.spanning
        )

    def _judge_beginning(self, encode: Encode, text: str) -> None:
        """Refuse a text without places to cut by its beginning, so that its cost follows from `most_ids`."""
        size = SLICE
        while self.most_ids is not None and size < len(text):
            check_length(len(encode(text[:size])), self.most_ids)
            size *= 4


def check_length(num_ids: int, most_ids: int | None) -> None:
    """Raise TextTooLongError if `num_ids` is beyond `most_ids`."""
    if most_ids is not None and num_ids > most_ids:
        raise TextTooLongError(f"it has more than {most_ids} tokens")


def longest_text(token_texts: Sequence[str], most_ids: int | None, shrinks: int = 1) -> int:
    """Return the characters beyond which every text has more than `most_ids` tokens.

    shrinks: maximum number of characters that a normalizer joins into one.
    """
    longest = max(map(len, token_texts), default=1)
    return sys.maxsize if most_ids is None else most_ids * longest * shrinks
