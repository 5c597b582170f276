"""Scripts of the replaying engine: the texts of its answers."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from engine.testing.answer import ReplayedAnswer
from engine.testing.byte_tokenizer import WORDS

ANSWER_WORDS = 12
"""Words of an answer that may end by itself."""


class Token(NamedTuple):
    """A token of an answer."""

    text: str
    id: int


class Script(Protocol):
    """Source of the tokens of all answers."""

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        """Return the next token of `answer`, or None where it ends by itself. step: number of the engine's step."""


class NumberedWords:
    """Answers of the words " w0", " w1", ...: the second answer to a prompt begins at " w100", the third at " w200"."""

    def __init__(self, length: int = ANSWER_WORDS) -> None:
        """Create the script. length: words of an answer that may end by itself."""
        self._length = length

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        """Return the word after the last one."""
        del step
        count = len(answer.produced)
        if count >= self._length and not answer.params.ignore_eos:
            return None
        word = 100 * answer.params.choice + count
        return Token(f" w{word}", WORDS + word)


class Said:
    """Answers of one ASCII text, a token for each character, so that they can call tools."""

    def __init__(self, text: str) -> None:
        """Create the script."""
        self.text = text

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        """Return the next character."""
        del step
        count = len(answer.produced)
        return None if count >= len(self.text) else Token(self.text[count], ord(self.text[count]))


class Pieces:
    """Answers of given tokens. An answer that may not end by itself repeats them."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Create the script. texts: of the tokens, at least one."""
        self._texts = texts

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        """Return the next text."""
        del step
        count = len(answer.produced)
        if count >= len(self._texts) and not answer.params.ignore_eos:
            return None
        return Token(self._texts[count % len(self._texts)], WORDS + count)


class StepNumbers:
    """Answers whose tokens name the step that made them, so that their reader knows how late they are."""

    def next(self, answer: ReplayedAnswer, step: int) -> Token | None:
        """Return the number of the step."""
        count = len(answer.produced)
        ends = count >= ANSWER_WORDS and not answer.params.ignore_eos
        return None if ends else Token(f" {step}", WORDS + count)
