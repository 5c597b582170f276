"""One answer as it appears in the terminal: thoughts in faint text, then the answer."""

import unicodedata
from collections.abc import Callable

FAINT, NORMAL = "\x1b[2m", "\x1b[22m"


class AnswerView:
    """View of one answer in the terminal. Close the view, or the terminal may stay faint.

    shows_thoughts: if False, one word stands for the thoughts.
    """

    def __init__(self, write: Callable[[str], object], *, shows_thoughts: bool) -> None:
        self._write = write
        self._shows_thoughts = shows_thoughts
        self._is_thinking = False

    def thought(self, text: str) -> None:
        """Show more of the thoughts."""
        if not self._is_thinking:
            self._is_thinking = True
            self._write(FAINT if self._shows_thoughts else f"{FAINT}(thinking)")
        if self._shows_thoughts:
            self._write(printable(text))

    def add_text(self, text: str) -> None:
        """Show more of the answer."""
        if self._is_thinking:
            self.close()
            self._write("\n\n")
        self._write(printable(text))

    def close(self) -> None:
        """Restore the terminal after the last text."""
        if self._is_thinking:
            self._is_thinking = False
            self._write(NORMAL)


def printable(text: str) -> str:
    """Return `text` without the control characters with which an answer could take over the terminal."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")
