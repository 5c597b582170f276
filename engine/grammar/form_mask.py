"""What may come next in an answer that has a form, found in a thread beside the loop."""

from collections.abc import Sequence
from concurrent.futures import Executor, Future, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.grammar.automaton import Automaton, Position

PATIENCE_SECONDS = 0.004
"""For which the loop waits: nearly every mask takes less. An answer whose mask takes more sits out a step."""


class FormMask:
    """Satisfies `engine.sampling.token_mask.TokenMask`. `end_words` allows what ends an answer, and nothing else."""

    def __init__(self, automaton: "Automaton", start: "Position", beside: Executor, end_words: bytes) -> None:
        """start: where `automaton` is."""
        self._automaton = automaton
        self._beside = beside
        self._end_words = end_words
        self._fresh: list[int] = []
        self._position: Future[Position] = Future()
        self._position.set_result(start)

    def accept(self, token_id: int) -> None:
        """`token_id` has come."""
        self._fresh.append(token_id)

    @property
    def is_ready(self) -> bool:
        """Whether `words` answers at once. Waits a little for that."""
        self._follow()
        return bool(wait([self._position], PATIENCE_SECONDS).done)

    @property
    def failure(self) -> str | None:
        """Why the answer could not be brought to its end, in a sentence."""
        return self._position.result().failure if self._position.done() else None

    def words(self) -> bytes:
        """The bits of what may come."""
        self._follow()
        position = self._position.result()
        return self._end_words if position.failure is not None else position.words

    def forced(self) -> Sequence[int]:
        """What must come next, if that is known by now."""
        if not self.is_ready:
            return ()
        position = self._position.result()
        return () if position.failure is not None else position.forced

    def _follow(self) -> None:
        if self._fresh:
            fresh, self._fresh = self._fresh, []
            self._position = self._beside.submit(self._advance, self._position, fresh)

    def _advance(self, before: "Future[Position]", token_ids: list[int]) -> "Position":
        # Jobs begin in their order, so what is waited for here is under way or done.
        there = before.result()
        return there if there.failure is not None else self._automaton.advance(token_ids)
