"""Incremental conversion of token ids to text that can no longer change."""

import codecs
from bisect import bisect_left
from collections.abc import Callable


class Detokenizer:
    """Incremental UTF-8 decoder of token bytes.

    An incomplete character is held back, and dropped if the answer ends within it. Invalid bytes become U+FFFD, as in
    `bytes.decode` with errors="replace".

    token_bytes: maps an id to its bytes, which are empty for special tokens.
    """

    def __init__(
        self, token_bytes: Callable[[int], bytes], *, drops_first_space: bool = False, begins_stretch: bool = True
    ) -> None:
        """Create the decoder.

        drops_first_space: drop a space that begins a stretch of text between special tokens.
        begins_stretch: the first token begins such a stretch.
        """
        self._token_bytes = token_bytes
        self._drops_first_space = drops_first_space
        self._begins_stretch = begins_stretch
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """Return the text that this token completes."""
        text = self._token_bytes(token_id)
        begins, self._begins_stretch = self._begins_stretch, not text
        return self._decoder.decode(text.removeprefix(b" ") if begins and self._drops_first_space else text)

    def break_off(self) -> None:
        """Note a special token that splits the text, and drop an incomplete character before it."""
        self._decoder.reset()
        self._begins_stretch = True

    @property
    def is_between_characters(self) -> bool:
        """Whether no incomplete character is held back."""
        return not self._decoder.getstate()[0]


class StopStrings:
    """Filter that cuts text at the stop string that is complete first, and holds back a possible beginning of one.

    The cost per character does not depend on the number of stop strings, only on the number of their lengths.
    """

    def __init__(self, stop: tuple[str, ...], *, include: bool = False) -> None:
        """Create the filter. With `include`, the stop string that ends the text is part of it."""
        self._stop = frozenset(stop)
        self._sorted = sorted(self._stop)
        self._lengths = sorted({len(text) for text in stop}, reverse=True)
        self._include = include
        self._held = ""

    def push(self, text: str) -> tuple[str, str | None]:
        """Return the text that may be shown and the stop string reached, if any, after which nothing may be pushed."""
        if not self._stop:
            return text, None
        # Held text has no stop string.
        first_end = len(self._held) + 1
        self._held += text
        for end in range(first_end, len(self._held) + 1):
            if (stop := self._ending_at(end)) is not None:
                return self._held[: end if self._include else end - len(stop)], stop
        keep = self._possible_start()
        cut = len(self._held) - keep
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown, None

    def flush(self) -> str:
        """Return the text held back, when no more text follows."""
        held, self._held = self._held, ""
        return held

    def _ending_at(self, end: int) -> str | None:
        """Return the longest stop string that ends at the position `end` of the held text; None if none does."""
        for length in self._lengths:
            if length <= end and (text := self._held[end - length : end]) in self._stop:
                return text
        return None

    def _possible_start(self) -> int:
        """Return the length of the longest suffix of the held text that begins a stop string."""
        for length in range(min(self._lengths[0] - 1, len(self._held)), 0, -1):
            tail = self._held[-length:]
            at = bisect_left(self._sorted, tail)
            if at < len(self._sorted) and self._sorted[at].startswith(tail):
                return length
        return 0
