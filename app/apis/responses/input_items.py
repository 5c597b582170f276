"""Input items of OpenAI's Responses and Conversations APIs: messages, reasoning, tools, calls and their results.

A message comes in the short form or in the form that an answer has.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, TypeGuard

from pydantic import BeforeValidator, Field, Tag

from app.apis.responses.tools_schema import ResponseTool, ResponseTools
from app.domain.records import Role
from app.domain.tool_use import IsCall, IsResult, ToolUse
from app.schemas.foreign import Foreign, foreign
from app.schemas.parsing import TEXT_OR_LIST, RequestModel, by_type, parse_object
from models.chat.custom_input import arguments_of

MAX_CALL_ID: Final = 256
MAX_ITEM_ID: Final = 128
UNKNOWN_CALL: Final = "unknown"
"""Id of the call of a result that names none."""


class InputPart(RequestModel):
    """One part of an item's content: a text."""

    ignored: ClassVar[frozenset[str]] = frozenset({"annotations", "logprobs", "prompt_cache_breakpoint"})

    type: Literal["input_text", "output_text", "text"]
    text: str


Part = Annotated[
    Annotated[InputPart, Tag("<InputPart>")] | Annotated[Foreign, Tag("<Foreign>")],
    by_type(InputPart, {}, foreign),
]
Content = Annotated[Annotated[str, Tag("<text>")] | Annotated[list[Part], Tag("<list>")], TEXT_OR_LIST]


class InputItem(RequestModel):
    """One message. The id and the status of an echoed answer are ignored, since the server assigns them."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "status", "phase"})

    type: Literal["message"] = "message"
    role: Literal["user", "assistant", "system", "developer"]
    content: Content

    @property
    def stored_role(self) -> Role:
        """The role under which the message is stored. A developer's message is stored as a system message."""
        return "system" if self.role == "developer" else self.role

    @property
    def text(self) -> str:
        """The content as one string. Parts are joined without a separator."""
        return _text(self.content)

    @property
    def tool_use(self) -> ToolUse | None:
        """None: a message neither calls a tool nor returns a result."""
        return None


class CallItem(RequestModel):
    """A function call in an earlier answer.

    name: as the model wrote it, which may call a function that is not there.
    arguments: any text, since a cut answer has part of a JSON object.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "status", "caller", "async", "created_by"})

    type: Literal["function_call"]
    call_id: Annotated[str, Field(min_length=1, max_length=MAX_CALL_ID)]
    name: str
    namespace: str | None = None
    arguments: str

    stored_role: ClassVar[Role] = "assistant"
    text: ClassVar[str] = ""

    @property
    def tool_use(self) -> ToolUse:
        """The call."""
        return IsCall(self.call_id, self.name, self.arguments, namespace=self.namespace)


class ResultItem(RequestModel):
    """The result of a call."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "status", "caller", "namespace", "name", "created_by"})

    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: Annotated[str, Field(min_length=1, max_length=MAX_CALL_ID)] | None = None
    output: Content

    stored_role: ClassVar[Role] = "user"

    @property
    def text(self) -> str:
        """The output as one string."""
        return _text(self.output)

    @property
    def tool_use(self) -> ToolUse:
        """A reference to the call whose result this is."""
        return IsResult(self.call_id or UNKNOWN_CALL, is_custom=self.type == "custom_tool_call_output")


class CustomCallItem(RequestModel):
    """A call of a custom tool in an earlier answer."""

    ignored: ClassVar[frozenset[str]] = CallItem.ignored

    type: Literal["custom_tool_call"]
    call_id: Annotated[str, Field(min_length=1, max_length=MAX_CALL_ID)]
    name: str
    namespace: str | None = None
    input: str

    stored_role: ClassVar[Role] = "assistant"
    text: ClassVar[str] = ""

    @property
    def tool_use(self) -> ToolUse:
        """The call."""
        return IsCall(self.call_id, self.name, arguments_of(self.input), is_custom=True, namespace=self.namespace)


class ForeignItem(Foreign):
    """An item that only a provider's servers make, or a tool that this server does not offer.

    text: stands in the item's place.
    """

    place: ClassVar[str] = "input"

    tool_use: ClassVar[None] = None

    @property
    def stored_role(self) -> Role:
        """The role under which the text is stored: a result is no text of the model's."""
        return "user" if self.type.endswith(("_output", "_response")) else "assistant"


class ToolsItem(RequestModel):
    """Tools that a client adds in the middle of a conversation. The prompt describes them with all others."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "role", "call_id", "execution", "status", "created_by"})

    type: Literal["additional_tools", "tool_search_output"]
    tools: ResponseTools


SaidItem = InputItem | CallItem | ResultItem | CustomCallItem | ForeignItem
"""Items that are stored and become part of prompts."""


class ReasoningItem(RequestModel):
    """Reasoning of an earlier answer, as clients echo it. Reasoning is never part of a later prompt."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "summary", "content", "encrypted_content", "status"})

    type: Literal["reasoning"]


class ReferenceItem(RequestModel):
    """A reference to an item of an earlier response, in place of the item."""

    type: Literal["item_reference"]
    id: Annotated[str, Field(min_length=1, max_length=MAX_ITEM_ID)]


class CompactionItem(RequestModel):
    """The sealed summary of a compaction, which stands for a message of the assistant."""

    ignored: ClassVar[frozenset[str]] = frozenset({"id", "created_by"})

    type: Literal["compaction"]
    encrypted_content: Annotated[str, Field(min_length=1)]


KINDS: Mapping[str, type[RequestModel]] = {
    "additional_tools": ToolsItem,
    "tool_search_output": ToolsItem,
    "reasoning": ReasoningItem,
    "function_call": CallItem,
    "function_call_output": ResultItem,
    "custom_tool_call": CustomCallItem,
    "custom_tool_call_output": ResultItem,
}
"""Models of all items that conversations have, except messages, by `type`."""


def _foreign_item(_: str) -> type[ForeignItem]:
    return ForeignItem


def _with_type(value: object) -> object:
    """Name the type of a reference, which may come as an id alone."""
    is_id = isinstance(value, dict) and value.keys() | {"type"} == {"id", "type"} and value.get("type") is None
    return {**value, "type": "item_reference"} if is_id else value  # type: ignore[dict-item]


_OF_REQUESTS: Final = {**KINDS, "item_reference": ReferenceItem, "compaction": CompactionItem}

Item = Annotated[
    Annotated[InputItem, Tag("<InputItem>")]
    | Annotated[ReasoningItem, Tag("<ReasoningItem>")]
    | Annotated[CallItem, Tag("<CallItem>")]
    | Annotated[ResultItem, Tag("<ResultItem>")]
    | Annotated[CustomCallItem, Tag("<CustomCallItem>")]
    | Annotated[ToolsItem, Tag("<ToolsItem>")]
    | Annotated[ForeignItem, Tag("<ForeignItem>")],
    by_type(InputItem, KINDS, _foreign_item),
]
RequestItem = Annotated[
    Annotated[InputItem, Tag("<InputItem>")]
    | Annotated[ReasoningItem, Tag("<ReasoningItem>")]
    | Annotated[CallItem, Tag("<CallItem>")]
    | Annotated[ResultItem, Tag("<ResultItem>")]
    | Annotated[CustomCallItem, Tag("<CustomCallItem>")]
    | Annotated[ReferenceItem, Tag("<ReferenceItem>")]
    | Annotated[CompactionItem, Tag("<CompactionItem>")]
    | Annotated[ToolsItem, Tag("<ToolsItem>")]
    | Annotated[ForeignItem, Tag("<ForeignItem>")],
    by_type(InputItem, _OF_REQUESTS, _foreign_item),
    BeforeValidator(_with_type),
]


def item_of(fields: Mapping[str, Any]) -> SaidItem:
    """Read an item as the server itself writes it."""
    return parse_object(KINDS.get(fields["type"], InputItem), fields)  # type: ignore[return-value]


def said_in(items: Sequence[RequestItem], path: str) -> dict[str, SaidItem]:
    """Select the items that are stored and become part of prompts, keyed by their path in the request."""
    named = {f"{path}[{index}]": item for index, item in enumerate(items)}
    return {path: item for path, item in named.items() if is_said(item)}


def is_said(item: RequestItem) -> TypeGuard[SaidItem]:
    """Return whether an item is stored and becomes part of prompts."""
    return isinstance(item, SaidItem) and not (isinstance(item, ForeignItem) and not item.text)


def tools_in(items: Sequence[RequestItem], path: str) -> dict[str, Sequence[ResponseTool]]:
    """Return the tools among the items, keyed by their path in the request."""
    return {f"{path}[{index}].tools": item.tools for index, item in enumerate(items) if isinstance(item, ToolsItem)}


def _text(content: "str | list[Part]") -> str:
    """Join the parts without a separator."""
    return content if isinstance(content, str) else "".join(part.text for part in content)
