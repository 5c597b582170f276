"""Conversion of an answer's tokens to text, with the reasoning kept apart."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

from engine.text.detokenizer import Detokenizer
from models.chat.harmony_thinking import HarmonyReader, HarmonyThinking
from models.chat.quoted_marks import QuotedMarks, without_breaks
from models.chat.tool_call_parser import CallMarks
from models.chat.tool_format import ToolFormat
from models.chat.unclosed_reasoning import UnclosedReasoning
from models.chat.written_thinking import Pieces, WrittenThinking
from models.thinking import MarkedThinking, Thinking, Thoughts


class AnswerTokenizer(Protocol):
    """The part of a tokenizer that answers need. See `models.tokenizers.text_tokenizer.TextTokenizer`."""

    @property
    def drops_first_space(self) -> bool:
        """Whether decoding removes the space before a span between control tokens."""

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Encode `text`, and with `special` the names of control tokens as these tokens."""

    def describe(self, ids: Sequence[int], /) -> str:
        """Decode `ids` for display, with control tokens by name."""

    def token_bytes(self, id_: int, /) -> bytes:
        """Return the bytes of a token's text; b"" for control tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFormat:
    """Decoding rules of one model's answers.

    token_bytes: maps an id to its bytes, which are empty for control tokens.
    drops_first_space: see `models.tokenizers.text_tokenizer.TextTokenizer`.
    thinking: None for models without reasoning.
    describe: maps ids to a text that names control tokens.
    call_words: as in `models.chat.call_syntax.interface.CallSyntax`.
    marks: marks of calls that are tokens, by id.
    call_marks: all marks of calls, and whether they need any.
    """

    token_bytes: Callable[[int], bytes]
    drops_first_space: bool = False
    thinking: Thinking | None = None
    describe: Callable[[Sequence[int]], str] = lambda _: ""
    call_words: tuple[str, ...] = ()
    marks: Mapping[int, str] = field(default_factory=dict)
    call_marks: CallMarks = field(default_factory=lambda: CallMarks(starts=()))

    @classmethod
    def of(cls, tokenizer: AnswerTokenizer, tools: ToolFormat, thinking: Thinking | None) -> "AnswerFormat":
        """Create the rules of a model. Control tokens that delimit tool calls show their names."""
        names, token_bytes = tools.names_of_marks(), tokenizer.token_bytes
        return cls(
            token_bytes=(lambda id_: names.get(id_) or token_bytes(id_)) if names else token_bytes,
            drops_first_space=tokenizer.drops_first_space,
            thinking=thinking,
            describe=tokenizer.describe,
            call_words=tools.syntax.call_words,
            marks=tools.tokens_of_marks(partial(tokenizer.encode, special=True)),
            call_marks=tools.syntax.marks,
        )

    def begin(
        self,
        prompt_ids: Sequence[int],
        *,
        skip_special: bool = True,
        may_call: bool = True,
        breaks_marks: bool = False,
        stop: Sequence[str] = (),
    ) -> "AnswerText":
        """Create the reader of the answer to a prompt.

        skip_special: leave control tokens out of the text. Control tokens around reasoning are always left out.
        may_call: a call ends reasoning that was not closed.
        breaks_marks: break the marks that ordinary tokens spell (`models.chat.quoted_marks`), outside of the reasoning.
        stop: strings that are looked for in the text, so that no mark which one of them continues into may be broken.
        """
        answer_format = self if may_call else replace(self, call_words=())
        answer_format = answer_format if skip_special else replace(answer_format, token_bytes=self._name_or_bytes)
        broken = [mark for mark in self.marks.values() if not any(mark[-2:] in each for each in stop)]
        return AnswerText(answer_format, prompt_ids, QuotedMarks(broken) if breaks_marks and broken else None)

    def _name_or_bytes(self, token_id: int) -> bytes:
        return self.token_bytes(token_id) or self.describe([token_id]).encode()


@dataclass(frozen=True, slots=True)
class EmittedText:
    """Text that one token completes."""

    text: str = ""
    is_thought: bool = False


class AnswerText:
    """Decoder of one answer, token by token.

    num_thought: reasoning tokens so far, without the control tokens around them.
    """

    def __init__(
        self, answer_format: AnswerFormat, prompt_ids: Sequence[int], spelled: QuotedMarks | None = None
    ) -> None:
        # If the prompt ends within a text, the answer continues that text.
        begins_stretch = bool(prompt_ids) and not answer_format.token_bytes(prompt_ids[-1])
        self._detokenizer = Detokenizer(
            answer_format.token_bytes, drops_first_space=answer_format.drops_first_space, begins_stretch=begins_stretch
        )
        thinking = answer_format.thinking
        self._thoughts = Thoughts(thinking, prompt_ids) if isinstance(thinking, MarkedThinking) else None
        self._splitter = thinking.splitter(prompt_ids) if isinstance(thinking, WrittenThinking) else None
        self._harmony = HarmonyReader(thinking, prompt_ids) if isinstance(thinking, HarmonyThinking) else None
        self._header = thinking.header if isinstance(thinking, MarkedThinking) else ""
        self._begun: str | None = None
        self._open_call = (
            UnclosedReasoning(answer_format.call_words)
            if self._thoughts is not None and answer_format.call_words
            else None
        )
        self._due = list[EmittedText]()
        self._marks = answer_format.marks
        self._spelled = spelled
        self.num_thought = 0

    @property
    def is_thinking(self) -> bool:
        """Whether the next token belongs to reasoning."""
        if self._harmony is not None:
            return self._harmony.is_thinking
        reader = self._splitter or self._thoughts
        return reader is not None and reader.inside

    @property
    def is_between_characters(self) -> bool:
        """Whether the tokens so far end with a whole character."""
        return self._detokenizer.is_between_characters

    def push(self, token_id: int) -> EmittedText:
        """Return the text that this token completes."""
        return self._as_written(self._read(token_id))

    def _read(self, token_id: int) -> EmittedText:
        if self._harmony is not None:
            self._queue(self._harmony.push(token_id, self._decoded(token_id)))
            self.num_thought += self._harmony.is_thinking and not self._harmony.is_mark(token_id)
            return self._next()
        if self._splitter is not None:
            self._queue(self._splitter.push(self._decoded(token_id)))
            self.num_thought += self._splitter.inside
            return self._next()
        if self._thoughts is None:
            return EmittedText(self._decoded(token_id))
        if self._thoughts.push(token_id):
            self._detokenizer.break_off()
            self._begun = "" if self._header and self._thoughts.inside else None
            self._release()
            return self._next()
        self.num_thought += self._thoughts.inside
        text = self._decoded(token_id)
        if self._begun is not None:
            text = self._without_header(text)
        if self._thoughts.inside and self._open_call is not None and self._open_call.concerns(text):
            self._queue(self._open_call.push(text))
            self._thoughts.inside = not self._open_call.is_found
            return self._next()
        if self._due:
            self._queue([(text, self._thoughts.inside)])
            return self._next()
        return EmittedText(text, self._thoughts.inside)

    def finish(self) -> EmittedText:
        """Return the text that was held back, at the end of the answer."""
        if self._splitter is not None:
            self._queue(self._splitter.finish())
        self._release()
        return self._as_written(self._next())

    def _decoded(self, token_id: int) -> str:
        """Return the text that a token completes, with breaks in spelled marks."""
        text = self._detokenizer.push(token_id)
        if self._spelled is None:
            return text
        if token_id not in self._marks:
            return self._spelled.push(text)
        self._spelled.end_stretch()
        return text

    def _as_written(self, emitted: EmittedText) -> EmittedText:
        """Remove the breaks from reasoning, which is not read for calls."""
        return (
            EmittedText(without_breaks(emitted.text), True)
            if emitted.is_thought and self._spelled is not None
            else emitted
        )

    def _release(self) -> None:
        """Queue the reasoning that was held back because a call might begin there."""
        if self._open_call is not None and (held := self._open_call.finish()):
            self._queue([(held, True)])

    def _queue(self, pieces: Pieces) -> None:
        """Add pieces to those that are due. A token may end the reasoning and begin the answer."""
        for text, is_thought in pieces:
            if self._due and self._due[-1].is_thought == is_thought:
                text = self._due.pop().text + text
            self._due.append(EmittedText(text, is_thought))

    def _next(self) -> EmittedText:
        return self._due.pop(0) if self._due else EmittedText()

    def _without_header(self, text: str) -> str:
        """Leave out the header at the beginning of reasoning."""
        begun = (self._begun or "") + text
        self._begun = begun if begun != self._header and self._header.startswith(begun) else None
        return begun.removeprefix(self._header) if self._begun is None else ""
