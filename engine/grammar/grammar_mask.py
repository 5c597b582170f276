"""Masks of an answer with a form, computed on threads while the loop continues."""

import time
from collections.abc import Sequence
from concurrent.futures import Executor, Future, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from engine.api.outputs import FormVerdict
from engine.grammar.compiled_forms import CompiledForm

if TYPE_CHECKING:
    from engine.grammar.automaton import Position

PATIENCE_SECONDS: Final = 0.004
"""Seconds that the loop waits for a mask. Nearly every mask takes less; an answer with a slower one skips a step."""


@dataclass(frozen=True, slots=True)
class MaskThreads:
    """The threads that compute masks. `slow` is for answers whose last mask took longer than PATIENCE_SECONDS."""

    quick: Executor
    slow: Executor


class GrammarMask:
    """TokenMask of a form. `end_words` allows only tokens that end the answer.

    The mask has the compiled form, which therefore stays in the cache as long as the answer.

    All masks of a step begin before one of them is awaited, and each is awaited until PATIENCE_SECONDS after its own
    beginning. They therefore share one deadline, and a mask that misses it is never awaited again.
    """

    def __init__(
        self, compiled: CompiledForm, threads: MaskThreads, end_words: bytes, *, is_part: bool = False
    ) -> None:
        """Make the mask of an answer. is_part: the form is that of a part of it, which ends as soon as it can."""
        self._is_part = is_part
        self._compiled = compiled
        self._automaton = compiled.automaton.copy()
        self._threads = threads
        self._end_words = end_words
        self._fresh: list[int] = []
        self._wait_until = 0.0
        self._was_slow = False
        self._position: Future[Position] = Future()
        self._position.set_result(compiled.start)

    is_asleep = False

    def accept(self, token_id: int) -> None:
        """See TokenMask."""
        self._fresh.append(token_id)

    @property
    def known(self) -> "Position | None":
        """The position after the last accepted token; None if it is not known yet."""
        return self._position.result() if self._position.done() and not self._fresh else None

    def begin(self) -> None:
        """See TokenMask."""
        if self._fresh:
            fresh, self._fresh = self._fresh, []
            threads = self._threads.slow if self._was_slow else self._threads.quick
            self._position = threads.submit(self._advance, self._position, fresh)
            self._wait_until = time.monotonic() + PATIENCE_SECONDS

    def verdict(self, text: str) -> FormVerdict | None:
        """See TokenMask."""
        check = self._compiled.check
        return None if check is None else check(text)

    @property
    def is_ready(self) -> bool:
        """See TokenMask. Reading this blocks until the deadline that all masks of a step share."""
        self.begin()
        if self._position.done():
            return True
        patience = self._wait_until - time.monotonic()
        return patience > 0 and bool(wait([self._position], patience).done)

    @property
    def failure(self) -> str | None:
        """See TokenMask."""
        return self._position.result().failure if self._position.done() else None

    def words(self) -> bytes:
        """See TokenMask."""
        self.begin()
        position = self._position.result()
        return self._end_words if position.failure is not None else position.words

    def forced(self) -> Sequence[int]:
        """See TokenMask. Tokens are forced only if they are known by the deadline."""
        if not self.is_ready:
            return ()
        position = self._position.result()
        return () if position.failure is not None else position.forced

    def _advance(self, before: "Future[Position]", token_ids: list[int]) -> "Position":
        # The previous position is known, or is being computed by a thread that began earlier, so this cannot deadlock.
        there = before.result()
        if there.unread is not None:
            return replace(there, unread=there.unread + len(token_ids))
        if there.failure is not None:
            return there
        began = time.monotonic()
        position = (self._automaton.advance_to_end if self._is_part else self._automaton.advance)(token_ids)
        self._was_slow = time.monotonic() - began > PATIENCE_SECONDS
        return position
