"""Models that think aloud think as they like: the form begins where the answer does."""

from collections.abc import Sequence

from engine.sampling.token_mask import TokenMask
from models.thinking import Thinking, Thoughts


class AfterThought:
    """A TokenMask around another one, which sees nothing of the thoughts."""

    def __init__(
        self, mask: TokenMask, thinking: Thinking, prompt_ids: Sequence[int], *, vocab_size: int, end_words: bytes
    ) -> None:
        """end_words: what ends an answer; no thought does."""
        self._mask = mask
        self._start_id = thinking.start_id
        self._thoughts = Thoughts(thinking, prompt_ids)
        self._may_begin = not self._thoughts.inside
        every = (1 << vocab_size) - 1
        self._in_thought = (every & ~int.from_bytes(end_words, "little")).to_bytes(-(-vocab_size // 32) * 4, "little")

    def accept(self, token_id: int) -> None:
        """`token_id` has come."""
        self._may_begin = False
        if not self._thoughts.push(token_id) and not self._thoughts.inside:
            self._mask.accept(token_id)

    def begin(self) -> None:
        """Begin to find what may come, unless a thought goes on."""
        if not self._thoughts.inside:
            self._mask.begin()

    @property
    def is_ready(self) -> bool:
        """Whether `words` answers at once."""
        return self._thoughts.inside or self._mask.is_ready

    @property
    def failure(self) -> str | None:
        """As of the mask inside."""
        return self._mask.failure

    def words(self) -> bytes:
        """The bits of what may come: at the very beginning also a thought."""
        if self._thoughts.inside:
            return self._in_thought
        words = self._mask.words()
        if not self._may_begin:
            return words
        bits = int.from_bytes(words, "little") | 1 << self._start_id
        return bits.to_bytes(max(len(words), self._start_id // 32 * 4 + 4), "little")

    def forced(self) -> Sequence[int]:
        """As of the mask inside, once the answer has begun."""
        return () if self._thoughts.inside or self._may_begin else self._mask.forced()
