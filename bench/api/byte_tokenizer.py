"""Tokenizer without a model: the bytes, one control token, and one token for all text of the engine."""

from collections.abc import Mapping, Sequence
from typing import Any

from models.chat_format import Message
from models.errors import ChatFormatError
from models.thinking import Thinking, ThinkingMode
from models.tool_format import ToolFormat, find_tool_format

END, SAID = 256, 257
VOCABULARY = 258


class ByteTokenizer:
    """Implementation of `app.host.backend.TextTokenizer`."""

    vocab_size = VOCABULARY
    drops_first_space = False
    longest_text = 1 << 20

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Encode text as its bytes. Text never becomes a control token."""
        del special
        return list(text.encode())

    def describe(self, ids: Sequence[int]) -> str:
        """Decode ids, with control tokens shown as `<end>`."""
        return b"".join(self.token_bytes(id_) or b"<end>" for id_ in ids).decode(errors="replace")

    def token_bytes(self, id_: int) -> bytes:
        """Return one byte, a word of the answer, or nothing for a control token."""
        return bytes([id_]) if id_ < END else b" w" if id_ == SAID else b""

    def encode_prompt(self, text: str) -> list[int]:
        """Encode a prompt as its text."""
        return self.encode(text, special=True)


class ByteChatFormat:
    """Implementation of `app.host.backend.PromptFormat`. A turn is role, newline, content, END."""

    thinking: Thinking | None = None
    tools: ToolFormat = find_tool_format({}, "")
    tokenizer_info: Mapping[str, Any] = {"tokenizer_class": "ByteTokenizer"}

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        """Render a prompt. As in most templates, a system message may only come first."""
        del thinking
        if any(message.role == "system" for message in messages[1:]):
            raise ChatFormatError("a system message may only come first")
        return [id_ for message in messages for id_ in _turn(message)] + list(b"assistant\n")

    def extend(
        self,
        prior_ids: Sequence[int],
        messages: Sequence[Message],
        *,
        num_new: int = 1,
        thinking: ThinkingMode | None = None,
    ) -> list[int]:
        """Render the new messages that follow an answer."""
        del thinking
        closed = [] if prior_ids[-1] == END else [END]
        return [
            *closed,
            *(id_ for message in messages[len(messages) - num_new :] for id_ in _turn(message)),
            *b"assistant\n",
        ]

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        """Render all messages, without the opening of an answer."""
        return [id_ for message in messages for id_ in _turn(message)]


def _turn(message: Message) -> list[int]:
    return [*f"{message.role}\n{message.content}".encode(), END]
