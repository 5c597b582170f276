"""Reasoning in channels: an answer is several messages, each with a header that tells reasoning from calls and text.

Source of the channels of gpt-oss: https://github.com/openai/harmony. The reader also accepts
other headers.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from models.thinking import ThinkingMode
from models.tokenizers.text_tokenizer import TextTokenizer

START, CHANNEL, MESSAGE = "<|start|>", "<|channel|>", "<|message|>"
SOLAR_START, SOLAR_THOUGHT, SOLAR_CALLS = "<|begin|>", "<|think|>", "<|tool_calls|>"
_WHOLE: Final = r"(?![^\s<])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Channels:
    """Marks and headers of a family's messages.

    starts: marks that begin a header.
    contents: marks that end a header. The content of the message follows.
    ends: marks that end a message.
    thought: matches a part of the header of reasoning. The header includes its marks.
    call: matches a part of the header of a call. The first group is the recipient.
    call_header: text in place of that header, in the one form that `models.chat.call_syntax` reads.
    opening, closing: rest of the header of reasoning and of the answer, where the prompt ends within a header.
    between: text from the end of a message to the place in the next header where prompts end.
    variables: variables of the chat template by the mode that they select.
    """

    starts: tuple[str, ...]
    contents: tuple[str, ...]
    ends: tuple[str, ...]
    thought: re.Pattern[str]
    call: re.Pattern[str]
    call_header: str
    opening: str
    closing: str
    between: str
    variables: Mapping[ThinkingMode, Mapping[str, str]]


HARMONY: Final = Channels(
    starts=(START,),
    contents=(MESSAGE,),
    ends=("<|end|>", "<|return|>", "<|call|>"),
    thought=re.compile(rf"{re.escape(CHANNEL)}\s*analysis(?![a-z])"),
    call=re.compile(rf"\bto=(?:functions\.)?(?!assistant{_WHOLE})([^\s<]+)"),
    call_header=f"{START}assistant to=functions.{{name}}{CHANNEL}commentary json{MESSAGE}",
    opening=f"{CHANNEL}analysis{MESSAGE}",
    closing=f"{CHANNEL}final{MESSAGE}",
    between=f"<|end|>{START}assistant",
    # The template's default is between them.
    variables={"slow": {"reasoning_effort": "high"}, "auto": {"reasoning_effort": "low"}},
)
MUSE: Final = Channels(
    starts=(START,),
    contents=(MESSAGE,),
    ends=("<|eom|>", "<|eot|>"),
    thought=re.compile(rf"\bto=self{_WHOLE}"),
    call=re.compile(rf"\bto=(?!(?:self|user){_WHOLE})([^\s<]+)"),
    call_header=f"{START}assistant to={{name}}{MESSAGE}",
    opening=f" to=self{MESSAGE}",
    closing=f" to=user{MESSAGE}",
    between=f"<|eom|>{START}assistant",
    variables={"slow": {"reasoning_strength": "high"}, "auto": {"reasoning_strength": "low"}},
)
SOLAR: Final = Channels(
    starts=(SOLAR_START,),
    contents=(SOLAR_THOUGHT, "<|content|>", SOLAR_CALLS),
    ends=("<|end|>", "<|calls|>"),
    thought=re.compile(re.escape(SOLAR_THOUGHT)),
    call=re.compile(f"({re.escape(SOLAR_CALLS)})"),
    call_header=SOLAR_CALLS,
    opening=SOLAR_THOUGHT,
    closing="<|content|>",
    between=f"<|end|>{SOLAR_START}assistant",
    variables={"slow": {"reasoning_effort": "high"}, "off": {"reasoning_effort": "minimal"}},
)


@dataclass(frozen=True, slots=True)
class HarmonyThinking:
    """A `Thinking` in separate messages."""

    tokenizer: TextTokenizer
    channels: Channels
    suffixes: Mapping[ThinkingMode, str]
    has_headers: bool = True

    @property
    def modes(self) -> tuple[ThinkingMode, ...]:
        """See `Thinking`."""
        return tuple(self.suffixes)

    @property
    def opening_ids(self) -> Sequence[int]:
        """See `Thinking`."""
        return self.tokenizer.encode(self.channels.opening, special=True)

    @property
    def closing_ids(self) -> Sequence[int]:
        """See `Thinking`. The header of the answer, where the prompt ends before a header."""
        return self.tokenizer.encode(self.channels.closing, special=True)

    def cutting_ids(self, *, may_call: bool) -> Sequence[int]:
        """See `Thinking`. A message ends, and the next one begins: up to its header if it may be a call."""
        begun = self.tokenizer.encode(self.channels.between, special=True)
        return begun if may_call else [*begun, *self.closing_ids]

    def is_in(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        return any(self.id_of(mark) in token_ids for mark in self.channels.contents)

    def begins(self, token_ids: Sequence[int]) -> bool:
        """See `Thinking`. Every answer begins with a header."""
        return bool(token_ids)

    def opens(self, prompt_ids: Sequence[int]) -> bool:
        """See `Thinking`."""
        starts, contents = (set(map(self.id_of, marks)) for marks in (self.channels.starts, self.channels.contents))
        return next((id_ in starts for id_ in reversed(prompt_ids) if id_ in starts | contents), False)

    def id_of(self, mark: str) -> int | None:
        """Return the id of a mark."""
        return self.tokenizer.control_tokens.get(mark)


def find_harmony_thinking(template: str, tokenizer: TextTokenizer) -> HarmonyThinking | None:
    """Find the format by the marks of headers, in the template and as control tokens."""
    for channels, words in ((HARMONY, (CHANNEL,)), (MUSE, ("to=self",)), (SOLAR, (SOLAR_THOUGHT, SOLAR_CALLS))):
        marks = {*channels.starts, *channels.contents, *re.findall(r"<\|\w+\|>", channels.opening)}
        if all(word in template for word in words) and marks <= tokenizer.control_tokens.keys():
            return HarmonyThinking(tokenizer, channels, dict.fromkeys(channels.variables, ""))
    return None


class HarmonyReader:
    """Reader of one answer, token by token.

    inside: the answer is inside reasoning, a header or a call, and not inside text for the user.
    """

    def __init__(self, thinking: HarmonyThinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt, which usually ends within a header."""
        self._channels = thinking.channels
        marks = (*self._channels.starts, *self._channels.contents, *self._channels.ends, CHANNEL)
        self._names = {id_: mark for mark in marks if (id_ := thinking.id_of(mark)) is not None}
        self._header: str | None = ""
        self._is_thought = False
        self._is_call = False
        self._is_over = False
        self._has_text = False
        if not thinking.opens(prompt_ids) and thinking.is_in(prompt_ids):
            self._header = None

    @property
    def inside(self) -> bool:
        """See the class."""
        return self._header is not None or self._is_thought or self._is_call or self._is_over

    @property
    def is_thinking(self) -> bool:
        """Whether the next token belongs to reasoning."""
        return self._is_thought and self._header is None

    def push(self, token_id: int, text: str) -> list[tuple[str, bool]]:
        """Add a token and the text that it completes. Return the shown pieces, each with whether it is reasoning."""
        mark = self._names.get(token_id)
        if mark is None:
            return self._content(text)
        if mark in self._channels.ends:
            self._is_over, self._is_thought, self._is_call = True, False, False
        elif mark in self._channels.contents:
            return self._begin_message((self._header or "") + mark)
        elif mark in self._channels.starts or self._header is None:
            self._header, self._is_over = mark, False
        else:
            self._header += mark
        return []

    def is_mark(self, token_id: int) -> bool:
        """Return whether a token is part of the frame around messages."""
        return token_id in self._names

    def _content(self, text: str) -> list[tuple[str, bool]]:
        if self._header is not None:
            self._header += text
            return []
        return [(text, self._is_thought)] if text and not self._is_over else []

    def _begin_message(self, header: str) -> list[tuple[str, bool]]:
        call = self._channels.call.search(header)
        self._header, self._is_over = None, False
        self._is_call = call is not None
        self._is_thought = call is None and self._channels.thought.search(header) is not None
        if call is not None:
            return [(self._channels.call_header.format(name=call[1]), False)]
        is_next = self._has_text and not self._is_thought
        self._has_text |= not self._is_thought
        return [("\n\n", False)] if is_next else []


class HarmonyThoughts:
    """Tracker of one answer, like `models.thinking.Thoughts`, for forms of the answer's text."""

    def __init__(self, thinking: HarmonyThinking, prompt_ids: Sequence[int]) -> None:
        """Start an answer after the prompt."""
        self._describe = thinking.tokenizer.describe
        self._reader = HarmonyReader(thinking, prompt_ids)

    @property
    def inside(self) -> bool:
        """Whether the answer is not inside text for the user."""
        return self._reader.inside

    def push(self, token_id: int) -> bool:
        """Update `inside` with the next token, and return whether the token is a mark."""
        is_mark = self._reader.is_mark(token_id)
        self._reader.push(token_id, "" if is_mark else self._describe([token_id]))
        return is_mark
