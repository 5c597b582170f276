"""Tools as clients of chat completions describe, choose and call them."""

from dataclasses import replace
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, Tag, ValidationInfo, model_validator

from app.apis.call_arguments import arguments_text
from app.apis.openai.custom_tools import AnyText, GrammarDefinition, OfferedTool, custom_tool, offer_of_tools
from app.prompts.tool_offer import NamedChoice, ToolOffer
from app.schemas.hosted_tools import HostedTool, MayBeHosted, NotHosted, hosted
from app.schemas.parsing import RequestModel, by_tag, by_type, optional
from app.schemas.unenforced import note_unenforced
from models.chat.custom_input import arguments_of
from models.chat.tool_calls import ToolCall

MAX_TOOLS = 256
MAX_CALLS = 128

FunctionName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,128}$")]


class Function(RequestModel):
    """A function that the model may call.

    parameters: JSON Schema of the arguments. Without it, the function takes none.
    """

    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None

    @model_validator(mode="after")
    def _noted(self, info: ValidationInfo) -> "Function":
        """Note the keywords that no mask enforces. Without `strict`, other servers take all keywords as annotations."""
        if self.strict:
            note_unenforced(self.parameters, info)
        return self


class Tool(RequestModel):
    """A function, as chat completions describe it."""

    type: Literal["function"]
    function: Function

    @property
    def offered(self) -> OfferedTool:
        """The tool as the model reads it."""
        return OfferedTool(self.function.model_dump(exclude_none=True))


class ChatGrammar(RequestModel):
    """Input that follows a grammar."""

    type: Literal["grammar"]
    grammar: GrammarDefinition


InputFormat = Annotated[
    Annotated[AnyText, Tag("<AnyText>")] | Annotated[ChatGrammar, Tag("<ChatGrammar>")],
    by_type(AnyText, {"grammar": ChatGrammar}),
]


class Custom(RequestModel):
    """A custom tool: the client runs it with one text."""

    name: FunctionName
    description: str | None = None
    format: InputFormat | None = None


class ChatCustomTool(RequestModel):
    """A custom tool, as chat completions describe it."""

    type: Literal["custom"]
    custom: Custom

    @property
    def offered(self) -> OfferedTool:
        """The tool as the model reads it."""
        described = self.custom
        grammar = described.format.grammar if isinstance(described.format, ChatGrammar) else None
        return custom_tool(described.name, described.description, grammar, "custom.format.grammar.syntax")


AnyTool = Annotated[
    Annotated[Tool, Tag("<Tool>")]
    | Annotated[ChatCustomTool, Tag("<ChatCustomTool>")]
    | Annotated[HostedTool, Tag("<HostedTool>")],
    by_type(Tool, {"custom": ChatCustomTool}, hosted),
    MayBeHosted,
]


class ToolName(RequestModel):
    """A tool by its name."""

    name: FunctionName


class NamedFunction(RequestModel):
    """The function that must be called."""

    type: Literal["function"]
    function: ToolName

    @property
    def named(self) -> NamedChoice:
        """The choice, with the client's name of its field."""
        return NamedChoice(self.function.name, "tool_choice.function.name")


class NamedCustom(RequestModel):
    """The custom tool that must be called."""

    type: Literal["custom"]
    custom: ToolName

    @property
    def named(self) -> NamedChoice:
        """The choice, with the client's name of its field."""
        return NamedChoice(self.custom.name, "tool_choice.custom.name")


NamedTool = Annotated[
    Annotated[NamedFunction, Tag("<NamedFunction>")] | Annotated[NamedCustom, Tag("<NamedCustom>")],
    by_type(NamedFunction, {"custom": NamedCustom}),
    NotHosted,
]


class AllowedTools(RequestModel):
    """The tools that may be called, out of those that the request describes."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[NamedTool], Field(min_length=1, max_length=MAX_TOOLS)]


class AllowedToolsChoice(RequestModel):
    """A choice among some of the tools."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def _choice_kind(value: object) -> str | None:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", "")
    if kind in CHOICES or (isinstance(kind, str) and hosted(kind)):
        return "<allowed>" if kind == "allowed_tools" else "<named>"
    return None if isinstance(value, dict) else "<word>"


CHOICES: Final = ("function", "custom", "allowed_tools")
BY_CHOICE = by_tag(_choice_kind, CHOICES)
"""Discriminator of tool choices: a word, a tool, or the tools that are allowed."""

ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required", "any"], Tag("<word>")]
    | Annotated[NamedTool, Tag("<named>")]
    | Annotated[AllowedToolsChoice, Tag("<allowed>")],
    BY_CHOICE,
]


def _arguments_text(value: object) -> object:
    """Write the arguments of a call that a client sends as an object."""
    return arguments_text(value) if isinstance(value, dict) else value


class CalledFunction(RequestModel):
    """The function of a call.

    name: as the model wrote it, which may call a function that is not there.
    arguments: a JSON object as text, as the model generated it, or the beginning of one if the answer was cut. Other
        text is accepted too, and so is the object itself.
    """

    name: str
    arguments: Annotated[str, BeforeValidator(_arguments_text)]

    @property
    def call(self) -> ToolCall:
        """The call for the chat template."""
        return ToolCall(self.name, self.arguments)


class CalledCustom(RequestModel):
    """The custom tool of a call, and its input."""

    name: FunctionName
    input: str


class FunctionCall(RequestModel):
    """A call of a function in an earlier answer.

    index: present in calls that were copied from the chunks of a stream; ignored.
    """

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None

    @property
    def call(self) -> ToolCall:
        """The call for the chat template."""
        return self.function.call


class CustomCall(RequestModel):
    """A call of a custom tool in an earlier answer. index: as in `FunctionCall`."""

    id: str
    type: Literal["custom"]
    custom: CalledCustom
    index: int | None = None

    @property
    def call(self) -> ToolCall:
        """The call for the chat template."""
        return ToolCall(self.custom.name, arguments_of(self.custom.input))


CallOfTool = Annotated[
    Annotated[FunctionCall, Tag("<FunctionCall>")] | Annotated[CustomCall, Tag("<CustomCall>")],
    by_type(FunctionCall, {"custom": CustomCall}),
]


class ToolFields(RequestModel):
    """Request fields for tools."""

    tools: Annotated[list[AnyTool], Field(max_length=MAX_TOOLS)] | None = optional(
        "functions and custom tools that the model may call"
    )
    tool_choice: ToolChoice | None = optional("`none`, `auto`, `required` (or `any`), or the tool that must be called")
    parallel_tool_calls: bool | None = optional("`false` allows one call at most")

    @cached_property
    def offer(self) -> ToolOffer:
        """The tools that the request offers, and the choice among them."""
        tools = enumerate(self.tools or ())
        offered = {f"tools[{at}]": tool.offered for at, tool in tools if not isinstance(tool, HostedTool)}
        offer = offer_of_tools(offered, parallel=self.parallel_tool_calls is not False)
        match self.tool_choice:
            case AllowedToolsChoice(allowed_tools=allowed):
                names = [tool.named.name for tool in allowed.tools]
                return offer.among(names, allowed.mode, param="tool_choice.allowed_tools.tools")
            case NamedFunction() | NamedCustom() as choice:
                return replace(offer, choice=choice.named)
            case "any":
                return replace(offer, choice="required")
            case word:
                return replace(offer, choice=word or "auto")
