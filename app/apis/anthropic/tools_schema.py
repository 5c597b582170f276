"""Tools as clients of Anthropic's API describe, choose and call them, and return their results."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, get_args

from pydantic import Field, Tag

from app.apis.anthropic.client_tools import ClientTool, ClientToolType
from app.apis.anthropic.tool_search import SearchTool, SearchType
from app.apis.call_arguments import arguments_text
from app.apis.openai.tools_schema import MAX_TOOLS, FunctionName
from app.domain.bounds import MAX_MESSAGES
from app.prompts.tool_offer import NamedChoice, ToolOffer, WordOfChoice
from app.schemas.cache_mark import Markable
from app.schemas.hosted_tools import HostedTool, MayBeHosted, hosted
from app.schemas.parsing import RequestModel, by_tag, by_type
from engine.api.errors import InvalidRequestError
from models.chat.tool_calls import ToolCall


class AnthropicTool(Markable):
    """A tool that the client runs.

    defer_loading: whether the prompt describes the tool only where the history refers to it.
    """

    ignored: ClassVar[frozenset[str]] = frozenset(
        {"allowed_callers", "eager_input_streaming", "input_examples", "strict"}
    )

    type: Literal["custom"] | None = None
    name: FunctionName
    description: str | None = None
    input_schema: dict[str, Any]
    defer_loading: bool | None = None

    @property
    def function(self) -> dict[str, Any]:
        """The tool's description in OpenAI's form."""
        described = {"description": self.description} if self.description is not None else {}
        return {"name": self.name, **described, "parameters": self.input_schema}


_OTHER_TOOLS: Final[Mapping[str, type[RequestModel]]] = {
    **dict.fromkeys(get_args(ClientToolType), ClientTool),
    **dict.fromkeys(get_args(SearchType), SearchTool),
}
OfferedTool = AnthropicTool | ClientTool | SearchTool
AnthropicTools = Annotated[
    list[
        Annotated[
            Annotated[AnthropicTool, Tag("<AnthropicTool>")]
            | Annotated[ClientTool, Tag("<ClientTool>")]
            | Annotated[SearchTool, Tag("<SearchTool>")]
            | Annotated[HostedTool, Tag("<HostedTool>")],
            by_type(AnthropicTool, _OTHER_TOOLS, hosted),
            MayBeHosted,
        ]
    ],
    Field(max_length=MAX_MESSAGES),
]
"""Tools of a request. At most `MAX_TOOLS` of them may be described at the beginning of the prompt."""


class FreeChoice(RequestModel):
    """A choice that names no tool.

    type: with `auto` the model decides whether to call a tool, with `any` it must call one. With `none` the prompt
        mentions no tools.
    """

    type: Literal["auto", "any", "none"]
    disable_parallel_tool_use: bool | None = None


class ChosenTool(RequestModel):
    """The tool that must be called."""

    type: Literal["tool"]
    name: FunctionName
    disable_parallel_tool_use: bool | None = None


def _choice_kind(value: object) -> str | None:
    if isinstance(value, dict) and value.get("type") not in CHOICES:
        return None
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "<tool>" if kind == "tool" else "<word>"


CHOICES: Final = ("auto", "any", "none", "tool")
AnthropicChoice = Annotated[
    Annotated[FreeChoice, Tag("<word>")] | Annotated[ChosenTool, Tag("<tool>")], by_tag(_choice_kind, CHOICES)
]


def offer_of(
    tools: Sequence[OfferedTool], choice: FreeChoice | ChosenTool | None, references: Iterable[str]
) -> ToolOffer:
    """Build the tool offer from the fields `tools` and `tool_choice`.

    references: names of tools to which the history refers, in order. A deferred tool is offered if it is among them.

    Raise InvalidRequestError if too many tools are not deferred, or the choice names a deferred tool that is not among
    the references.
    """
    functions = [tool.function for tool in tools if not tool.defer_loading]
    if len(functions) > MAX_TOOLS:
        raise InvalidRequestError(
            f"tools: at most {MAX_TOOLS} tools may come without defer_loading, not {len(functions)}", param="tools"
        )
    deferred = {tool.name: tool.function for tool in tools if tool.defer_loading}
    loaded = [deferred.pop(name) for name in references if name in deferred]
    match choice:
        case ChosenTool(name=name) if name in deferred:
            raise InvalidRequestError(
                f"tool_choice.name: {name} is deferred, and no tool_reference in messages has loaded it",
                param="tool_choice.name",
            )
        case ChosenTool(name=name):
            return ToolOffer(
                functions=functions, choice=NamedChoice(name, "tool_choice.name"), parallel=False, loaded=loaded
            )
        case FreeChoice(type="none"):
            return ToolOffer(functions=functions, choice="none")
        case FreeChoice(type=word, disable_parallel_tool_use=alone):
            must: WordOfChoice = "required" if word == "any" else "auto"
            return ToolOffer(functions=functions, choice=must, parallel=alone is not True, loaded=loaded)
    return ToolOffer(functions=functions, loaded=loaded)


class ToolUseBlock(Markable):
    """A tool call in an earlier answer. name: as the model wrote it, which may call a tool that is not there.

    type: `server_tool_use` and `mcp_tool_use` for a tool that the provider's servers ran.
    """

    ignored: ClassVar[frozenset[str]] = frozenset({"caller", "server_name", "toolset_name"})

    type: Literal["tool_use", "server_tool_use", "mcp_tool_use"]
    id: str
    name: str
    input: dict[str, Any]

    @property
    def call(self) -> ToolCall:
        """The call with its arguments as JSON text, in the form in which the answer was remembered."""
        return ToolCall(self.name, arguments_text(self.input))
