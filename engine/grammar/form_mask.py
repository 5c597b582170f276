"""What may come next in an answer that has a form, found in a thread while the loop goes on."""

import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from engine.grammar.automaton import Automaton, Position

PATIENCE_SECONDS: Final = 0.004
"""For which the loop waits: nearly every mask takes less. An answer whose mask takes more sits out a step."""


@dataclass(frozen=True, slots=True)
class MaskThreads:
    """The threads that find masks. slow: for answers whose last mask took longer than the loop waits."""

    quick: Executor
    slow: Executor


class FormMask:
    """Satisfies `engine.sampling.token_mask.TokenMask`. `end_words` allows what ends an answer, and nothing else.

    All masks of a step are begun before one of them is waited for, and each is waited for until PATIENCE_SECONDS after
    it was begun. So they share one deadline, and a mask that misses it is never waited for again.
    """

    def __init__(self, automaton: "Automaton", start: "Position", threads: MaskThreads, end_words: bytes) -> None:
        """Begin at `start`, where `automaton` is."""
        self._automaton = automaton
        self._threads = threads
        self._end_words = end_words
        self._fresh: list[int] = []
        self._wait_until = 0.0
        self._was_slow = False
        self._position: Future[Position] = Future()
        self._position.set_result(start)

    def accept(self, token_id: int) -> None:
        """Take the token that has come."""
        self._fresh.append(token_id)

    def begin(self) -> None:
        """Begin to find what may come behind the tokens that were accepted."""
        if self._fresh:
            fresh, self._fresh = self._fresh, []
            threads = self._threads.slow if self._was_slow else self._threads.quick
            self._position = threads.submit(self._advance, self._position, fresh)
            self._wait_until = time.monotonic() + PATIENCE_SECONDS

    @property
    def is_ready(self) -> bool:
        """Whether `words` answers at once. Waits until the deadline that all masks of a step share."""
        self.begin()
        if self._position.done():
            return True
        patience = self._wait_until - time.monotonic()
        return patience > 0 and bool(wait([self._position], patience).done)

    @property
    def failure(self) -> str | None:
        """Why the answer could not be brought to its end, in a sentence."""
        return self._position.result().failure if self._position.done() else None

    def words(self) -> bytes:
        """Return the bits of what may come."""
        self.begin()
        position = self._position.result()
        return self._end_words if position.failure is not None else position.words

    def forced(self) -> Sequence[int]:
        """Return what must come next, if that is known by now."""
        if not self.is_ready:
            return ()
        position = self._position.result()
        return () if position.failure is not None else position.forced

    def _advance(self, before: "Future[Position]", token_ids: list[int]) -> "Position":
        # The position before was found when its tokens were chosen, or is found by a thread that began earlier.
        there = before.result()
        if there.failure is not None:
            return there
        began = time.monotonic()
        position = self._automaton.advance(token_ids)
        self._was_slow = time.monotonic() - began > PATIENCE_SECONDS
        return position
