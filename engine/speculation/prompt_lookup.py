"""Guesses from a request's own tokens: what followed the last ones where they stood before, in its prompt or answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from engine.request import Request
from engine.speculation.ngram_index import NgramIndex

MOST_INDEXED: Final = 1024
"""Tokens of one request that are read for one step: of a long prompt that was found in a tier no step waits."""
FIRST_CHANCE: Final = 0.2
"""Of an answer of which nothing is known yet."""
_NEWEST: Final = 0.125


@dataclass(slots=True)
class _Reading:
    """place: of the token that should come next if the text goes on as it did there; 0: nothing was found."""

    index: NgramIndex
    place: int = 0
    chance: float = FIRST_CHANCE


class PromptLookup:
    """A Proposer (Saxena, "Prompt Lookup Decoding", 2023). Whether a guess is right is seen for every token that comes,
    drafted or not: so what a request's guesses are worth is known before any is computed."""

    def __init__(self) -> None:
        self._readings: WeakKeyDictionary[Request, _Reading] = WeakKeyDictionary()

    def propose(self, request: Request, behind: int, most: int) -> Sequence[int]:
        """See Proposer. A text that repeats itself goes on repeating."""
        reading = self._readings.get(request)
        if reading is None:
            room = request.num_prompt_tokens + (request.sampling.max_tokens or 0)
            reading = self._readings[request] = _Reading(NgramIndex(room))
        _read(reading, request)
        tokens, place = reading.index.tokens, reading.place
        if not place or len(tokens) < request.num_tokens:
            return ()
        period = len(tokens) - place
        return tuple([tokens[place + at % period] for at in range(behind, behind + most)])

    def chance(self, request: Request) -> float:
        """See Proposer."""
        reading = self._readings.get(request)
        return reading.chance if reading is not None else 0.0


def _read(reading: _Reading, request: Request) -> None:
    """The tokens that it has not read yet."""
    index = reading.index
    start = len(index.tokens)
    new = request.token_ids(start, min(request.num_tokens, start + MOST_INDEXED))
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
