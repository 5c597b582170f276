"""Tools as clients of chat completions describe, choose and call them."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.prompts.tool_offer import NamedChoice, ToolOffer
from app.schemas.parsing import RequestModel, optional
from models.tool_calls import ToolCall

MAX_TOOLS = 128
MAX_CALLS = 128

FunctionName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")]


class Function(RequestModel):
    """A function that the model may call.

    parameters: JSON Schema of the arguments. Without it, the function takes none.
    """

    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(RequestModel):
    """A tool. Functions are the only kind."""

    type: Literal["function"]
    function: Function


class FunctionChoice(RequestModel):
    """A function by its name."""

    name: FunctionName


class NamedTool(RequestModel):
    """The tool that must be called."""

    type: Literal["function"]
    function: FunctionChoice


class AllowedTools(RequestModel):
    """The tools that may be called, out of those that the request describes."""

    mode: Literal["auto", "required"]
    tools: Annotated[list[NamedTool], Field(min_length=1, max_length=MAX_TOOLS)]


class AllowedToolsChoice(RequestModel):
    """A choice among some of the tools."""

    type: Literal["allowed_tools"]
    allowed_tools: AllowedTools


def choice_kind(value: object) -> str:
    """Return the union tag of a tool choice."""
    if isinstance(value, str):
        return "<word>"
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return "<allowed>" if kind == "allowed_tools" else "<named>"


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")]
    | Annotated[NamedTool, Tag("<named>")]
    | Annotated[AllowedToolsChoice, Tag("<allowed>")],
    Discriminator(choice_kind),
]


class CalledFunction(RequestModel):
    """The function of a call.

    name: as the model wrote it, which may call a function that is not there.
    arguments: a JSON object as text, as the model generated it, or the beginning of one if the answer was cut. Other
        text is accepted too.
    """

    name: str
    arguments: str

    @property
    def call(self) -> ToolCall:
        """The call for the chat template."""
        return ToolCall(self.name, self.arguments)


class CallOfTool(RequestModel):
    """A call in an earlier answer.

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


class ToolFields(RequestModel):
    """Request fields for tools."""

    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS)] | None = optional("functions that the model may call")
    tool_choice: ToolChoice | None = optional("`none`, `auto`, `required`, or the function that must be called")
    parallel_tool_calls: bool | None = optional("`false` allows one call at most")

    @property
    def offer(self) -> ToolOffer:
        """The tools that the request offers, and the choice among them."""
        offer = ToolOffer(
            [tool.function.model_dump(exclude_none=True) for tool in self.tools or ()],
            parallel=self.parallel_tool_calls is not False,
        )
        match self.tool_choice:
            case AllowedToolsChoice(allowed_tools=allowed):
                names = [tool.function.name for tool in allowed.tools]
                return offer.among(names, allowed.mode, param="tool_choice.allowed_tools.tools")
            case NamedTool(function=function):
                return replace(offer, choice=NamedChoice(function.name, "tool_choice.function.name"))
            case choice:
                return replace(offer, choice=choice or "auto")
