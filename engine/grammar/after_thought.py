"""Forms for reasoning models: the reasoning is unconstrained, and the form begins with the answer."""

from collections.abc import Sequence
from typing import Protocol

from engine.api.outputs import FormVerdict
from engine.sampling.token_mask import TokenMask


class Tracker(Protocol):
    """Tracker of reasoning, such as `models.thinking.Thoughts`."""

    @property
    def inside(self) -> bool:
        """Whether the answer is inside reasoning."""

    def push(self, token_id: int) -> bool:
        """Update `inside` with the next token, and return whether the token is a mark around reasoning."""


class AfterThought:
    """TokenMask around another one, which does not see the reasoning."""

    def __init__(
        self, mask: TokenMask, thoughts: Tracker, *, start_id: int | None, vocab_size: int, end_words: bytes
    ) -> None:
        """Wrap `mask`.

        start_id: token that may begin reasoning at the beginning of the answer; None if the form excludes reasoning.
        end_words: bits of tokens that end an answer, which may not occur in reasoning.
        """
        self._mask = mask
        self._start_id = start_id
        self._thoughts = thoughts
        self._may_begin = start_id is not None and not thoughts.inside
        every = (1 << vocab_size) - 1
        self._in_thought = (every & ~int.from_bytes(end_words, "little")).to_bytes(-(-vocab_size // 32) * 4, "little")

    is_asleep = False

    def accept(self, token_id: int) -> None:
        """See TokenMask."""
        self._may_begin = False
        if not self._thoughts.push(token_id) and not self._thoughts.inside:
            self._mask.accept(token_id)

    def begin(self) -> None:
        """See TokenMask. There is nothing to compute within reasoning."""
        if not self._thoughts.inside:
            self._mask.begin()

    def verdict(self, text: str) -> FormVerdict | None:
        """See TokenMask."""
        return self._mask.verdict(text)

    @property
    def is_ready(self) -> bool:
        """See TokenMask."""
        return self._thoughts.inside or self._mask.is_ready

    @property
    def failure(self) -> str | None:
        """See TokenMask."""
        return self._mask.failure

    def words(self) -> bytes:
        """See TokenMask. At the very beginning, reasoning may begin too."""
        if self._thoughts.inside:
            return self._in_thought
        words = self._mask.words()
        if not self._may_begin or self._start_id is None:
            return words
        bits = int.from_bytes(words, "little") | 1 << self._start_id
        return bits.to_bytes(max(len(words), self._start_id // 32 * 4 + 4), "little")

    def forced(self) -> Sequence[int]:
        """See TokenMask. No token is forced before the answer has begun."""
        return () if self._thoughts.inside or self._may_begin else self._mask.forced()
