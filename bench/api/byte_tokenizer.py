"""A tokenizer that needs no model: bytes, one control token, and one token for whatever the engine says."""

from collections.abc import Sequence

from models.errors import ChatFormatError
from models.pangu.chat_format import Message
from models.thinking import Thinking, ThinkingMode
from models.tool_format import ToolFormat, find_tool_format

END, SAID = 256, 257
VOCABULARY = 258


class ByteTokenizer:
    """What `app.backend.TextTokenizer` asks for."""

    vocab_size = VOCABULARY
    drops_first_space = False
    longest_text = 1 << 20

    def encode(self, text: str, *, special: bool) -> list[int]:
        """No text is a control token."""
        del special
        return list(text.encode())

    def describe(self, ids: Sequence[int]) -> str:
        """Control tokens are a mark."""
        return b"".join(self.token_bytes(id_) or b"<end>" for id_ in ids).decode(errors="replace")

    def token_bytes(self, id_: int) -> bytes:
        """One byte, a word of the answer, or nothing."""
        return bytes([id_]) if id_ < END else b" w" if id_ == SAID else b""

    def encode_prompt(self, text: str) -> list[int]:
        """A prompt is its text."""
        return self.encode(text, special=True)


class ByteChatFormat:
    """Role, newline, content, END. What `app.backend.PromptFormat` asks for."""

    thinking: Thinking | None = None
    tools: ToolFormat = find_tool_format({}, "")

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        """As most templates do, it takes a system message at the beginning only."""
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
        """What follows an answer."""
        del thinking
        closed = [] if prior_ids[-1] == END else [END]
        return [
            *closed,
            *(id_ for message in messages[len(messages) - num_new :] for id_ in _turn(message)),
            *b"assistant\n",
        ]

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        """All that was said."""
        return [id_ for message in messages for id_ in _turn(message)]


def _turn(message: Message) -> list[int]:
    return [*f"{message.role}\n{message.content}".encode(), END]
