"""Draft proposals by prompt lookup: the tokens that followed an earlier occurrence of a request's last tokens."""

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from engine.request.request import Request
from engine.speculation.guess import Guess
from engine.speculation.ngram_index import NgramIndex

MAX_INDEXED: Final = 1024
"""Tokens of one request that are indexed per step, so that no step waits for a long prompt that was cached."""
FIRST_CHANCE: Final = 0.2
"""Initial estimate of the probability that a guessed token is right."""
_NEWEST: Final = 0.125


@dataclass(slots=True)
class _Reading:
    """The index of one request's tokens, and the quality of guesses from it."""

    index: NgramIndex
    place: int = 0
    """Position of the token that comes next if the text repeats itself; 0 if no earlier occurrence was found."""
    chance: float = FIRST_CHANCE
    """Moving average of the share of right guesses."""


class PromptLookup:
    """A Proposer by prompt lookup (Saxena, "Prompt Lookup Decoding", 2023).

    Every new token shows whether a guess was right, drafted or not. So the quality of a request's guesses is known
    before any draft is computed.
    """

    def __init__(self) -> None:
        self._readings: WeakKeyDictionary[Request, _Reading] = WeakKeyDictionary()

    def propose(self, request: Request, behind: int, most: int) -> Guess:
        """Guess tokens as in Proposer, assuming that a text that repeats itself continues to do so."""
        reading = self._readings.get(request)
        if reading is None:
            room = request.num_prompt_tokens + (request.sampling.max_tokens or 0)
            reading = self._readings[request] = _Reading(NgramIndex(room))
        _read(reading, request)
        tokens, place = reading.index.tokens, reading.place
        if not place or len(tokens) < request.num_tokens:
            return Guess((), reading.chance, "prompt")
        period = len(tokens) - place
        guessed = tuple([tokens[place + at % period] for at in range(behind, behind + most)])
        return Guess(guessed, reading.chance, "prompt")


def _read(reading: _Reading, request: Request) -> None:
    """Index up to `MAX_INDEXED` new tokens of `request`, and check the guesses against tokens of its answer."""
    index = reading.index
    start = len(index.tokens)
    new = request.token_ids(start, min(request.num_tokens, start + MAX_INDEXED))
    of_prompt = max(0, request.num_prompt_tokens - start)
    index.extend(new[:of_prompt])
    for token in new[of_prompt:]:
        if reading.place:
            is_right = index.tokens[reading.place] == token
            reading.chance += _NEWEST * (is_right - reading.chance)
            reading.place = reading.place + 1 if is_right else 0
        index.extend((token,))
        if not reading.place:
            reading.place = index.find()
