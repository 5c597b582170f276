"""Reasoning between marks that are words: found in the text of an answer, at its beginning only."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.chat.quoted_marks import begun
from models.thinking import THINKS_ALWAYS, THINKS_OR_NOT, ThinkingMode, has_switch
from models.tokenizers.text_tokenizer import TextTokenizer

_TAIL: Final = 32
"""Number of tokens at the end of a prompt that are searched for a mark."""


@dataclass(frozen=True, slots=True)
class WordMarks:
    """Texts around reasoning.

    starts, ends: texts that may begin and end it.
    frame: texts around the answer after reasoning, which are left out; empty if there are none.
    """

    starts: tuple[str, ...]
    ends: tuple[str, ...]
    frame: tuple[str, str] = ("", "")


GRANITE32: Final = WordMarks(
    ("Here is my thought process:", "Here's my thought process:"), ("Here is my response:", "Here's my response:")
)
APRIEL: Final = WordMarks(("Here are my reasoning steps:",), ("[BEGIN FINAL RESPONSE]",))
TAGS: Final = WordMarks(("<think>",), ("</think>",))
GRANITE33: Final = WordMarks(TAGS.starts, TAGS.ends, ("<response>", "</response>"))

_LONGEST: Final = 256
"""Number of characters within which a mark begins reasoning or an answer."""

Pieces = list[tuple[str, bool]]
"""Texts in order, each with whether it is reasoning."""


@dataclass(frozen=True, slots=True)
class WrittenThinking:
    """A `Thinking` whose marks are words.

    describe: converts ids to text with control tokens by name.
    encode: converts text to ids.
    """

    marks: WordMarks
    suffixes: Mapping[ThinkingMode, str]
    describe: Callable[[Sequence[int]], str]
    encode: Callable[[str], list[int]]
    has_headers: bool = False

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """See `Thinking`."""
        return tuple(self.suffixes)

    @property
    def opening_ids(self) -> Sequence[int]:
        """See `Thinking`."""
        return self.encode(self.marks.starts[0])

    @property
    def closing_ids(self) -> Sequence[int]:
        """See `Thinking`."""
        return self.encode(self.marks.ends[0])

    def cutting_ids(self, *, may_call: bool) -> Sequence[int]:
        """See `Thinking`. Text and calls follow the same mark."""
        del may_call
        return self.closing_ids

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        text = self.describe(token_ids)
        return self._begins(text) or any(end in text for end in self.marks.ends)

    def begins(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        return self._begins(self.describe(token_ids))

    def opens(self, prompt_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        return self.describe(prompt_ids[-_TAIL:]).rstrip().endswith(self.marks.starts)

    def _begins(self, text: str) -> bool:
        return text.lstrip().startswith(self.marks.starts)

    def splitter(self, prompt_ids: Sequence[int]) -> "ReasoningSplitter":
        """Create the splitter of the answer to a prompt."""
        return ReasoningSplitter(self.marks, inside=self.opens(prompt_ids))


def find_written_thinking(template: str, tokenizer: TextTokenizer) -> WrittenThinking | None:
    """Find the reasoning format of a model without control tokens for it; None if the template names no marks."""
    if "thought process" in template:
        marks = GRANITE32
    elif APRIEL.starts[0] in template:
        marks = APRIEL
    elif TAGS.starts[0] in template:
        marks = GRANITE33 if GRANITE33.frame[0] in template else TAGS
    else:
        return None
    modes = THINKS_OR_NOT if has_switch(template) else THINKS_ALWAYS
    return WrittenThinking(marks, modes, tokenizer.describe, lambda text: tokenizer.encode(text, special=False))


class ReasoningSplitter:
    """Splitter of an answer, piece by piece. A text that may become a mark is held back.

    inside: the answer is inside reasoning.
    """

    def __init__(self, marks: WordMarks, *, inside: bool) -> None:
        """Create the splitter. inside: the prompt has opened the reasoning."""
        self.inside = inside
        self._marks = marks
        self._at_start = not inside
        self._awaits_frame = False
        self._frame_end = ""
        self._held = ""

    def push(self, text: str) -> Pieces:
        """Add text of the answer, and return the pieces that are certain."""
        self._held += text
        pieces = Pieces()
        if self._at_start:
            self._begin()
        if self.inside:
            pieces += self._reasoning()
        if not self._at_start and not self.inside:
            pieces += self._answer()
        return pieces

    def finish(self) -> Pieces:
        """Return the text that was held back, when no more text follows."""
        held, self._held = self._held, ""
        return [(held, self.inside)] if held else []

    def _begin(self) -> None:
        """Look for the mark that begins reasoning."""
        text = self._held.lstrip()
        start = next((start for start in self._marks.starts if text.startswith(start)), None)
        if start is not None:
            self._at_start, self.inside = False, True
            self._held = text.removeprefix(start)
        elif len(self._held) > _LONGEST or not any(start.startswith(text) for start in self._marks.starts):
            self._at_start = False

    def _reasoning(self) -> Pieces:
        hits = [(at, mark) for mark in self._marks.ends if (at := self._held.find(mark)) >= 0]
        if not hits:
            kept = max(begun(self._held, mark) for mark in self._marks.ends)
            thought, self._held = self._held[: len(self._held) - kept], self._held[len(self._held) - kept :]
            return [(thought, True)] if thought else []
        at, mark = min(hits)
        thought, self._held = self._held[:at], self._held[at + len(mark) :]
        self.inside, self._awaits_frame = False, bool(self._marks.frame[0])
        return [(thought, True)] if thought else []

    def _answer(self) -> Pieces:
        if self._awaits_frame and not self._has_frame():
            return []
        text, self._held = self._held, ""
        if self._frame_end:
            text, end, rest = text.partition(self._frame_end)
            if end:
                text, self._frame_end = text + rest, ""
            else:
                kept = begun(text, self._frame_end)
                text, self._held = text[: len(text) - kept], text[len(text) - kept :]
        return [(text, False)] if text else []

    def _has_frame(self) -> bool:
        """Leave out the text that begins the answer. Return False if more text is needed to tell."""
        start, end = self._marks.frame
        text = self._held.lstrip()
        if text.startswith(start):
            self._held, self._frame_end = text.removeprefix(start), end
        elif start.startswith(text) and len(self._held) <= _LONGEST:
            return False
        self._awaits_frame = False
        return True


class WrittenThoughts:
    """Tracker of reasoning in one answer, token by token, like `models.thinking.Thoughts`."""

    def __init__(self, thinking: WrittenThinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt."""
        self._thinking = thinking
        self._splitter = thinking.splitter(prompt_ids)

    @property
    def inside(self) -> bool:
        """Whether the answer is inside reasoning."""
        return self._splitter.inside

    def push(self, token_id: int) -> bool:
        """Update `inside` with the next token, and return whether the token ends the reasoning."""
        was_inside = self.inside
        self._splitter.push(self._thinking.describe([token_id]))
        return was_inside and not self.inside
