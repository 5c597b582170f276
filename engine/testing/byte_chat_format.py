"""Chat format without a model, whose prompts people can read."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.testing.byte_tokenizer import END, START
from models.chat.format import Message
from models.chat.tool_format import ToolFormat, find_tool_format
from models.errors import ChatFormatError
from models.thinking import Thinking, ThinkingMode

REFUSED = "refused by the template"
"""Content of a message that the format cannot render."""

_ANSWER = b"assistant\n"


class ByteChatFormat:
    """Implementation of `app.host.backend.PromptFormat`. A turn is START, role, newline, content, END."""

    thinking: Thinking | None = None
    tools: ToolFormat = find_tool_format({}, "")
    tokenizer_info: Mapping[str, Any] = {"tokenizer_class": "ByteTokenizer"}

    def render(self, messages: Sequence[Message], *, thinking: ThinkingMode | None = None) -> list[int]:
        """Render a prompt. Raise ChatFormatError for a message with the content REFUSED."""
        del thinking
        if any(message.content == REFUSED for message in messages):
            raise ChatFormatError("the template refuses a message")
        return [*(id_ for message in messages for id_ in _turn(message)), START, *_ANSWER]

    def next_prefix(self, messages: Sequence[Message]) -> list[int]:
        """Render all messages, and the beginning of the next turn."""
        return self.render(messages)[: -len(_ANSWER)]

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
        new = len(messages) - num_new
        assert messages[new - 1].role == "assistant"
        closed = [] if prior_ids[-1] == END else [END]
        return [*closed, *(id_ for message in messages[new:] for id_ in _turn(message)), START, *_ANSWER]


def _turn(message: Message) -> list[int]:
    return [START, *f"{message.role}\n{message.content}".encode(), END]
