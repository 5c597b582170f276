"""Messages of text as OpenAI's Responses and Conversations write them, in the easy form or as an answer has them."""

from typing import Annotated, ClassVar, Literal

from pydantic import Discriminator, Tag

from app.records import Role
from app.schemas.parsing import RequestModel, supported_items


class InputPart(RequestModel):
    """One part of an item's content. Other kinds than text are refused."""

    ignored: ClassVar[frozenset[str]] = frozenset({"annotations", "logprobs", "prompt_cache_breakpoint"})

    type: Literal["input_text", "output_text", "text"]
    text: str


def _content_kind(value: object) -> str:
    return "<parts>" if isinstance(value, list) else "<text>"


Content = Annotated[
    Annotated[str, Tag("<text>")] | Annotated[list[InputPart], Tag("<parts>")], Discriminator(_content_kind)
]


class InputItem(RequestModel):
    """One message. What a client echoes of an earlier answer has an id and a status, which are ours to give."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "status", "phase"})

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: Content

    @property
    def stored_role(self) -> Role:
        """A developer's message is a system message here."""
        return "system" if self.role == "developer" else self.role

    @property
    def text(self) -> str:
        """The content as one string; parts are joined without anything between them."""
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class ReasoningItem(RequestModel):
    """What was thought before an earlier answer, as clients echo it. No thought is part of a later prompt."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "summary", "content", "encrypted_content", "status"})

    type: Literal["reasoning"]


def supported_input(value: object, path: str) -> object:
    """`value`, a list of items at `path`, without the fields that are ignored; raises as `supported_fields` does."""
    items = supported_items(InputItem, value, path, {"reasoning": ReasoningItem})
    if not isinstance(items, list):
        return items
    return [
        {**item, "content": supported_items(InputPart, item["content"], f"{path}[{index}].content")}
        if isinstance(item, dict) and "content" in item
        else item
        for index, item in enumerate(items)
    ]
