"""Calls within reasoning that was not closed, which some models write."""

from typing import Final

from models.chat.quoted_marks import begun

_SPACE: Final = " \t\r\n"
_LONGEST: Final = 256
"""Number of characters from a mark on within which the words of a call follow."""


class UnclosedReasoning:
    """Finder of the first call in the reasoning of one answer, piece by piece.

    Reasoning also mentions the mark of calls. A mark begins one only if the words of a call follow it, with any white
    space in between. Text that may become one is held back.

    is_found: a call has begun, so that all further text belongs to the answer.
    """

    def __init__(self, words: tuple[str, ...]) -> None:
        """Create the finder. words: the mark and what follows it."""
        self.is_found = False
        self._words = words
        self._held = ""

    def concerns(self, text: str) -> bool:
        """Return whether `text` must be added: it may begin a call, or continue what was held back."""
        return bool(self._held) or self._words[0][0] in text

    def push(self, text: str) -> list[tuple[str, bool]]:
        """Add text of the reasoning. Return the pieces that are certain, each with whether it is reasoning."""
        self._held += text
        thought = list[str]()
        while (at := self._held.find(self._words[0])) >= 0:
            is_call = self._follows(self._held[at : at + _LONGEST])
            thought.append(self._held[:at])
            self._held = self._held[at:]
            if is_call:
                self.is_found = True
                return [*_thought(thought), (self.finish(), False)]
            if is_call is None:
                return _thought(thought)
            thought.append(self._held[:1])
            self._held = self._held[1:]
        kept = begun(self._held, self._words[0])
        thought.append(self._held[: len(self._held) - kept])
        self._held = self._held[len(self._held) - kept :]
        return _thought(thought)

    def finish(self) -> str:
        """Return the text that was held back."""
        held, self._held = self._held, ""
        return held

    def _follows(self, text: str) -> bool | None:
        """Return whether the text begins with the words of a call; None if it may."""
        is_cut = len(text) == _LONGEST
        for word in self._words:
            text = text.lstrip(_SPACE)
            if word.startswith(text) and word != text:
                return False if is_cut else None
            if not text.startswith(word):
                return False
            text = text.removeprefix(word)
        return True


def _thought(parts: list[str]) -> list[tuple[str, bool]]:
    text = "".join(parts)
    return [(text, True)] if text else []
