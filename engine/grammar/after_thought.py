"""Forms for reasoning models: the reasoning is unconstrained, and the form begins with the answer."""

from collections.abc import Sequence

from engine.sampling.token_mask import TokenMask
from models.thinking import Thinking, Thoughts


class AfterThought:
    """TokenMask around another one, which does not see the reasoning."""

    def __init__(
        self, mask: TokenMask, thinking: Thinking, prompt_ids: Sequence[int], *, vocab_size: int, end_words: bytes
    ) -> None:
        """Wrap `mask`. `end_words` are the bits of tokens that end an answer, which may not occur in reasoning."""
        self._mask = mask
        self._start_id = thinking.start_id
        self._thoughts = Thoughts(thinking, prompt_ids)
        self._may_begin = not self._thoughts.inside
        every = (1 << vocab_size) - 1
        self._in_thought = (every & ~int.from_bytes(end_words, "little")).to_bytes(-(-vocab_size // 32) * 4, "little")

    def accept(self, token_id: int) -> None:
        """See TokenMask."""
        self._may_begin = False
        if not self._thoughts.push(token_id) and not self._thoughts.inside:
            self._mask.accept(token_id)

    def begin(self) -> None:
        """See TokenMask. There is nothing to compute within reasoning."""
        if not self._thoughts.inside:
            self._mask.begin()

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
        if not self._may_begin:
            return words
        bits = int.from_bytes(words, "little") | 1 << self._start_id
        return bits.to_bytes(max(len(words), self._start_id // 32 * 4 + 4), "little")

    def forced(self) -> Sequence[int]:
        """See TokenMask. No token is forced before the answer has begun."""
        return () if self._thoughts.inside or self._may_begin else self._mask.forced()
