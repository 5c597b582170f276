"""Conversion of an answer's tokens to text, with the reasoning kept apart."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engine.detokenizer import Detokenizer
from models.thinking import Thinking, Thoughts


@dataclass(frozen=True, slots=True)
class AnswerFormat:
    """Decoding rules of one model's answers.

    token_bytes: maps an id to its bytes, which are empty for control tokens.
    drops_first_space: see `models.text_tokenizer.TextTokenizer`.
    thinking: None for models without reasoning.
    describe: maps ids to a text that names control tokens.
    """

    token_bytes: Callable[[int], bytes]
    drops_first_space: bool = False
    thinking: Thinking | None = None
    describe: Callable[[Sequence[int]], str] = lambda _: ""

    def begin(self, prompt_ids: Sequence[int], *, skip_special: bool = True) -> "AnswerText":
        """Create the reader of the answer to a prompt.

        skip_special: leave control tokens out of the text. Control tokens around reasoning are always left out.
        """
        return AnswerText(self if skip_special else replace(self, token_bytes=self._name_or_bytes), prompt_ids)

    def _name_or_bytes(self, token_id: int) -> bytes:
        return self.token_bytes(token_id) or self.describe([token_id]).encode()


@dataclass(frozen=True, slots=True)
class Said:
    """Text that one token completes."""

    text: str = ""
    is_thought: bool = False


class AnswerText:
    """Decoder of one answer, token by token.

    num_thought: reasoning tokens so far, without the control tokens around them.
    """

    def __init__(self, how: AnswerFormat, prompt_ids: Sequence[int]) -> None:
        # If the prompt ends within a text, the answer continues that text.
        begins_stretch = bool(prompt_ids) and not how.token_bytes(prompt_ids[-1])
        self._detokenizer = Detokenizer(
            how.token_bytes, drops_first_space=how.drops_first_space, begins_stretch=begins_stretch
        )
        self._thoughts = Thoughts(how.thinking, prompt_ids) if how.thinking is not None else None
        self.num_thought = 0

    def push(self, token_id: int) -> Said:
        """Return the text that this token completes."""
        if self._thoughts is None:
            return Said(self._detokenizer.push(token_id))
        if self._thoughts.push(token_id):
            self._detokenizer.break_off()
            return Said()
        self.num_thought += self._thoughts.inside
        return Said(self._detokenizer.push(token_id), self._thoughts.inside)
