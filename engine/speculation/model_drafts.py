"""Knowledge of the scheduler about the worker's draft model: how often its guesses are right."""

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from engine.request.request import Request

FIRST_CHANCE: Final = 0.6
"""Initial estimate of the probability that a guess is right if the ones before it are."""
_NEWEST: Final = 0.125
_NEWEST_OF_ALL: Final = 0.0625
_FORGOTTEN: Final = 1 / 256
"""Share by which a chance that was not worth a draft rises towards `FIRST_CHANCE`, so that it is tried again."""
_FORGOTTEN_OF_ALL: Final = 1 / 4096


@dataclass(slots=True)
class _Record:
    chance: float
    num_read: int = 0
    """Tokens of the request that the draft model has read at least."""


class ModelDrafts:
    """Chances of a draft model's guesses, for each request. A new one begins with that of the recent others.

    Unlike a guess from a text, one of the model is only known to be right or wrong after it was made, at a cost.
    """

    def __init__(self) -> None:
        self._typical = FIRST_CHANCE
        self._records: WeakKeyDictionary[Request, _Record] = WeakKeyDictionary()

    def chance(self, request: Request) -> float:
        """Estimate the probability that a guess is right if the ones before it are."""
        return self._record(request).chance

    def num_unread(self, request: Request) -> int:
        """Return how many tokens of `request`, at most, the model has to read before it can guess the next one."""
        return request.num_tokens - self._record(request).num_read

    def learn(self, request: Request, num_guessed: int, num_right: int) -> None:
        """Learn that the first `num_right` of `num_guessed` guesses were right, and the one after them was wrong."""
        if not num_guessed:
            return
        record = self._record(request)
        # The tokens after these have not been appended yet.
        record.num_read = request.num_tokens
        for is_right in [True] * num_right + [False] * (num_right < num_guessed):
            record.chance += _NEWEST * (is_right - record.chance)
            self._typical += _NEWEST_OF_ALL * (is_right - self._typical)

    def fade(self, request: Request) -> None:
        """Raise a chance below the initial one a little. Call when it was not worth a draft."""
        record = self._record(request)
        record.chance += _FORGOTTEN * max(0.0, FIRST_CHANCE - record.chance)
        self._typical += _FORGOTTEN_OF_ALL * max(0.0, FIRST_CHANCE - self._typical)

    def _record(self, request: Request) -> _Record:
        return self._records.setdefault(request, _Record(self._typical))
