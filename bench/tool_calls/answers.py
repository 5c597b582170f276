"""Answers as tokens, and the ways in which they arrive."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import Any, Final

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from bench.tool_calls.cases import Case, cases_of
from bench.tool_calls.formats import FORMATS, Format
from bench.tool_calls.written import argument_ends, pieces, shown

WHOLE: Final = "whole"
WAYS: Final = ("tokens", "characters", "one piece", "random pieces")
"""Ways of a stream. `WHOLE` is the answer without a stream."""

TIMED_WAYS: Final = ("tokens", "characters")
"""Ways in which the first piece of a call can come before its arguments have ended."""

SHORTEST_TIMED: Final = 40
"""Minimum length of arguments, in bytes, of which a part must come before their end."""

_VOCABULARY: Final = 1500
_MOST_AT_ONCE: Final = 12
_SEED: Final = 20261127


@dataclass(frozen=True, slots=True)
class Answer:
    """One case in one format.

    text: the answer as the model writes it, with the names of its tokens.
    arrivals: by way, the ids of each piece.
    due: by way of TIMED_WAYS, for each call the number of the piece that ends its arguments; None for short arguments.
    """

    case: Case
    text: str
    arrivals: dict[str, list[list[int]]]
    due: dict[str, list[int | None]]


class Vocabulary:
    """The tokenizer of one format: its marks are tokens, and bytes and frequent texts are."""

    def __init__(self, how: Format) -> None:
        self._how = how
        self._plain = _plain_tokenizer()
        self._full = Tokenizer.from_str(self._plain.to_str())
        self._full.add_tokens([AddedToken(mark, special=False, normalized=False) for mark in _marks(how, False)])
        self._full.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in _marks(how, True)])

    @property
    def end_id(self) -> int:
        """Id of the token that ends an answer."""
        return self._id(self._how.end)

    def spec(self) -> dict[str, Any]:
        """Return the contents of tokenizer.json."""
        spec: dict[str, Any] = json.loads(self._full.to_str())
        return spec

    def ids(self, text: str, *, by_character: bool = False) -> list[int]:
        """Encode what a writer wrote. by_character: no ordinary token has more than one character."""
        found = list[int]()
        for piece, is_mark in pieces(text, self._how.tokens):
            if is_mark:
                found.append(self._id(piece))
            else:
                for part in piece if by_character else [piece]:
                    found += self._plain.encode(part).ids
        return found

    def lengths(self, ids: Sequence[int]) -> Iterator[int]:
        """Yield the number of bytes of each token."""
        for id_ in ids:
            token = self._full.id_to_token(id_)
            is_mark = token in self._how.tokens
            assert token is not None
            # Each character of a token of the byte alphabet is one byte.
            yield len(token.encode()) if is_mark else len(token)

    def _id(self, mark: str) -> int:
        id_ = self._full.token_to_id(mark)
        assert id_ is not None
        return id_


def answers_of(how: Format) -> tuple[Vocabulary, list[Answer]]:
    """Return the vocabulary of a format and its answers."""
    words = Vocabulary(how)
    return words, [_answer(case, how, words) for case in cases_of(how)]


def written(case: Case, how: Format) -> str:
    """Write a case as the model does, with the marks of `bench.tool_calls.written`."""
    text = how.before_text + case.text if case.text else ""
    if not case.calls:
        return text
    text += (how.between if case.text else "") + how.write(case.calls)
    return text[: text.rindex(case.cut_after) + len(case.cut_after)] if case.cut_after else text


def _answer(case: Case, how: Format, words: Vocabulary) -> Answer:
    text = written(case, how)
    ids = words.ids(text)
    characters = words.ids(text, by_character=True)
    arrivals = {
        "tokens": [[id_] for id_ in ids],
        "characters": [[id_] for id_ in characters],
        "one piece": [ids],
        "random pieces": _random_pieces(ids, f"{_SEED} {how.name} {case.name}"),
    }
    due = {way: _due(text, case, words, arrivals[way]) for way in TIMED_WAYS}
    return Answer(case, shown(text), arrivals, due)


def _random_pieces(ids: Sequence[int], seed: str) -> list[list[int]]:
    chosen = random.Random(seed)
    cuts = [0]
    while cuts[-1] < len(ids):
        cuts.append(min(len(ids), cuts[-1] + chosen.randint(1, _MOST_AT_ONCE)))
    return [list(ids[begin:end]) for begin, end in pairwise(cuts)]


def _due(text: str, case: Case, words: Vocabulary, arrival: Sequence[Sequence[int]]) -> list[int | None]:
    """Return for each call the number of the piece that ends its arguments."""
    so_far = list(accumulate(sum(words.lengths(piece)) for piece in arrival))
    ends = argument_ends(text)
    found = list[int | None]()
    for call, end in zip(case.calls, ends, strict=False):
        is_long = len(json.dumps(call.arguments, ensure_ascii=False).encode()) >= SHORTEST_TIMED
        found.append(next(number for number, total in enumerate(so_far) if total >= end) if is_long else None)
    return found


def _marks(how: Format, special: bool) -> list[str]:
    return [*(mark for mark, is_special in how.tokens.items() if is_special == special)] + (
        [how.end] if special and how.end not in how.tokens else []
    )


@cache
def _plain_tokenizer() -> Tokenizer:
    """Train a tokenizer on the answers of all formats. The training has no random part."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = ByteLevelDecoder()
    trainer = BpeTrainer(
        vocab_size=_VOCABULARY, show_progress=False, initial_alphabet=sorted(ByteLevel.alphabet()), special_tokens=[]
    )
    texts = [
        piece
        for how in FORMATS
        for case in cases_of(how)
        for piece, is_mark in pieces(written(case, how), how.tokens)
        if not is_mark
    ]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
