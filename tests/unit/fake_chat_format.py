"""A tokenizer of bytes and a chat format, whose prompts a test can read."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.chat_format import Message
from models.errors import ChatFormatError
from models.thinking import Thinking, ThinkingMode
from models.tool_format import ToolFormat, find_tool_format

START, END, WORDS = 256, 257, 300
WINDOW = 4096


class FakeTokenizer:
    """A tokenizer with a token for each byte. `longest` is the length of the longest text encoded so far."""

    longest = 0
    vocab_size = WORDS + WINDOW
    drops_first_space = False
    longest_text = 1 << 19

    def encode(self, text: str, *, special: bool) -> list[int]:
        self.longest = max(self.longest, len(text))
        pieces = text.split("<|end|>") if special else [text]
        ids: list[int] = []
        for piece in pieces:
            ids += [END] * bool(ids or piece is not pieces[0]) + list(piece.encode())
        return ids

    def describe(self, ids: Sequence[int]) -> str:
        return text_of(ids)

    def token_bytes(self, id_: int) -> bytes:
        if id_ in (START, END):
            return b""
        return bytes([id_]) if id_ < 256 else f" w{id_ - WORDS}".encode()

    def encode_prompt(self, text: str) -> list[int]:
        return self.encode(text, special=True)


REFUSED = "refused by the template"
"""Content of a message that the template cannot render."""


class FakeChatFormat:
    """A chat format that renders each message as START role newline content END."""

    thinking: Thinking | None = None
    tools: ToolFormat = find_tool_format({}, "")
    tokenizer_info: Mapping[str, Any] = {"tokenizer_class": "FakeTokenizer"}

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        if any(message.content == REFUSED for message in messages):
            raise ChatFormatError("the template refuses a message")
        ids: list[int] = []
        for message in messages:
            ids += _turn(message)
        return [*ids, START, *b"assistant\n"]

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        return self.render(messages)[: -len(b"assistant\n")]

    def extend(
        self,
        prior_ids: Sequence[int],
        messages: Sequence[Message],
        *,
        num_new: int = 1,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        new = len(messages) - num_new
        assert messages[new - 1].role == "assistant"
        closed = [] if prior_ids[-1] == END else [END]
        said = [id_ for message in messages[new:] for id_ in _turn(message)]
        return [*closed, *said, START, *b"assistant\n"]


def _turn(message: Message) -> list[int]:
    return [START, *f"{message.role}\n{message.content}".encode(), END]


def text_of(ids: Sequence[int]) -> str:
    """Decode a prompt, with its control tokens as < and >."""
    marks = {START: b"<", END: b">"}
    return b"".join(
        marks.get(i) or (bytes([i]) if i < 256 else f" w{i - WORDS}".encode()) for i in ids
    ).decode()  # fmt: skip
