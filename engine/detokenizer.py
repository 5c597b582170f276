"""Ids to text, a piece at a time, showing only what can no longer change."""

import codecs
from collections.abc import Callable


class Detokenizer:
    """Bytes of tokens through an incremental UTF-8 decoder: half a character is held back until it is whole,
    and never shown if the answer ends within it.

    `token_bytes` maps an id to its bytes (empty for special tokens). Invalid bytes become U+FFFD, as in `bytes.decode`
    with errors="replace".
    """

    def __init__(
        self, token_bytes: Callable[[int], bytes], *, drops_first_space: bool = False, begins_stretch: bool = True
    ) -> None:
        """drops_first_space: whether a space that begins a stretch of text between special tokens is none of it.

        begins_stretch: whether the first token begins one.
        """
        self._token_bytes = token_bytes
        self._drops_first_space = drops_first_space
        self._begins_stretch = begins_stretch
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """Text that this token completes."""
        text = self._token_bytes(token_id)
        begins, self._begins_stretch = self._begins_stretch, not text
        return self._decoder.decode(text.removeprefix(b" ") if begins and self._drops_first_space else text)

    def break_off(self) -> None:
        """A special token that splits the text: half a character before it is given up."""
        self._decoder.reset()
        self._begins_stretch = True

    @property
    def is_between_characters(self) -> bool:
        """Whether nothing is held back."""
        return not self._decoder.getstate()[0]


class StopStrings:
    """Cuts text at whichever of a few strings is complete first, and holds back whatever could be the start of one."""

    def __init__(self, stop: tuple[str, ...], *, include: bool = False) -> None:
        """include: whether the one that was met is shown."""
        self._stop = stop
        self._include = include
        self._longest = max((len(text) for text in stop), default=0)
        self._held = ""

    def push(self, text: str) -> tuple[str, str | None]:
        """(text that may be shown, the stop string that was met). After a stop nothing more may be pushed."""
        if not self._stop:
            return text, None
        self._held += text
        # The one that is complete first, so that it does not matter in which pieces the text comes.
        found = [(at + len(stop), at, stop) for stop in self._stop if (at := self._held.find(stop)) >= 0]
        if found:
            end, start, stop = min(found)
            return self._held[: end if self._include else start], stop
        keep = self._possible_start()
        cut = len(self._held) - keep
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown, None

    def flush(self) -> str:
        """What was held back, when no more text comes."""
        held, self._held = self._held, ""
        return held

    def _possible_start(self) -> int:
        """Length of the longest end of the held text that begins a stop string."""
        for length in range(min(self._longest - 1, len(self._held)), 0, -1):
            tail = self._held[-length:]
            if any(stop.startswith(tail) for stop in self._stop):
                return length
        return 0
