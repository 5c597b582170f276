"""Tools, as clients of chat completions describe, choose and call them."""

import json
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.schemas.parsing import RequestModel, told
from app.tool_offer import NamedChoice, ToolOffer
from engine.errors import InvalidRequestError
from models.tool_calls import ToolCall

MAX_TOOLS = 128
MAX_CALLS = 128

FunctionName = Annotated[str, Field(pattern=r"^[a-zA-Z0-9_.-]{1,64}$")]


class Function(RequestModel):
    """What may be called. parameters: JSON Schema of the arguments; left out: there are none."""

    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(RequestModel):
    """Functions are the only kind."""

    type: Literal["function"]
    function: Function


class FunctionChoice(RequestModel):
    """One by its name."""

    name: FunctionName


class NamedTool(RequestModel):
    """The one that must be called."""

    type: Literal["function"]
    function: FunctionChoice


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")] | Annotated[NamedTool, Tag("<named>")],
    Discriminator(lambda value: "<word>" if isinstance(value, str) else "<named>"),
]


class CalledFunction(RequestModel):
    """arguments: JSON of an object, as it was answered."""

    name: FunctionName
    arguments: str


class CallOfTool(RequestModel):
    """A call in an earlier answer. index: what is left of it in a stream's chunks."""

    id: str
    type: Literal["function"] = "function"
    function: CalledFunction
    index: int | None = None

    def call(self, path: str) -> ToolCall:
        """What the template gets. Raises InvalidRequestError if the arguments are no JSON object."""
        return ToolCall(self.function.name, arguments_of(self.function.arguments, f"{path}.function.arguments"))


def arguments_of(text: str, param: str) -> str:
    """Arguments of a call, as the template gets them. Raises InvalidRequestError if they are no JSON object."""
    try:
        is_object = isinstance(json.loads(text or "{}"), dict)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object:
        raise InvalidRequestError(f"{param}: no JSON object", param=param)
    return text or "{}"


class ToolFields(RequestModel):
    """The fields of a request that are about tools."""

    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS)] | None = told("functions that the model may call")
    tool_choice: ToolChoice | None = told("`none`, `auto`, `required`, or the one that must be called")
    parallel_tool_calls: bool | None = told("`false`: one call at most")

    @property
    def offer(self) -> ToolOffer:
        """What they say."""
        choice = self.tool_choice or "auto"
        return ToolOffer(
            [tool.function.model_dump(exclude_none=True) for tool in self.tools or ()],
            NamedChoice(choice.function.name, "tool_choice.function.name") if isinstance(choice, NamedTool) else choice,
            parallel=self.parallel_tool_calls is not False,
        )
