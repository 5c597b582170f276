"""Step of the start that a server process is in, which the supervising process reads after its death."""

import mmap
import re

_BYTES = 256


class StartStep:
    """A sentence in memory that a process shares with those it forks. Empty before the start and after it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _BYTES)

    @property
    def sentence(self) -> str:
        """The step as it was reported last, without an end that is too long."""
        # The writer may have died between two bytes of a character.
        return self._memory[:].rstrip(b"\0").decode(errors="ignore")

    @property
    def kind(self) -> str:
        """The step without its numbers, which differ from one start to the next."""
        return re.sub(r"\d+", "", self.sentence)

    def report(self, sentence: str) -> None:
        """Record that the next step begins; an empty sentence means that the start is complete."""
        self._memory[:] = sentence.encode(errors="backslashreplace")[:_BYTES].ljust(_BYTES, b"\0")
