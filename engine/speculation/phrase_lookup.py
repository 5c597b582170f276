"""Draft proposals from a request's own text, or else from phrases of its tenant's earlier answers."""

from dataclasses import dataclass, field
from typing import Final
from weakref import WeakKeyDictionary

from engine.request.request import Request
from engine.speculation.guess import Guess
from engine.speculation.phrases import RUNS, Phrase, Phrases, TenantPhrases
from engine.speculation.prompt_lookup import PromptLookup

_LONGEST: Final = RUNS[0]


@dataclass(slots=True)
class _Match:
    """The phrase that one answer seems to repeat, as far as its tokens have been read."""

    num_read: int = 0
    last: list[int] = field(default_factory=list)
    """The latest tokens of the answer, at most `_LONGEST`."""
    phrase: Phrase | None = None


class PhraseLookup:
    """A Proposer that asks both texts, and takes the guess that is likelier.

    As with the request's own text, every new token shows whether a phrase went on as it did, drafted or not.
    """

    def __init__(self, own: PromptLookup, phrases: Phrases) -> None:
        self._own = own
        self._phrases = phrases
        self._matches: WeakKeyDictionary[Request, _Match] = WeakKeyDictionary()

    def propose(self, request: Request, behind: int, most: int) -> Guess:
        """Guess tokens as in Proposer."""
        own = self._own.propose(request, behind, most)
        if (phrases := self._phrases.of(request.tenant)) is None:
            return own
        match = self._matches.setdefault(request, _Match())
        _read(match, request, phrases)
        phrase = match.phrase
        if phrase is None or (own.token_ids and phrases.chance(phrase) <= own.chance):
            return own
        return Guess(phrases.after(phrase.place + behind, most), phrases.chance(phrase), "phrase")


def _read(match: _Match, request: Request, phrases: TenantPhrases) -> None:
    """Follow the phrase through the new tokens of the answer, and find another where it ends."""
    for token in request.output_token_ids[match.num_read :]:
        phrase = match.phrase
        if phrase is not None:
            is_right = phrases.after(phrase.place, 1) == (token,)
            phrases.learn(phrase, is_right=is_right)
            match.phrase = Phrase(phrase.place + 1, phrase.length + 1) if is_right else None
        match.last.append(token)
        del match.last[:-_LONGEST]
        if match.phrase is None or not phrases.after(match.phrase.place, 1):
            match.phrase = phrases.find(match.last)
    match.num_read = len(request.output_token_ids)
