"""Tools, as clients of chat completions describe, choose and call them."""

import json
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from app.schemas.parsing import RequestModel, told
from engine.errors import InvalidRequestError
from engine.grammar.form import AnswerForm
from models.tool_calls import ToolCall
from models.tool_format import ToolFormat

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
        try:
            is_object = isinstance(json.loads(self.function.arguments or "{}"), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            param = f"{path}.function.arguments"
            raise InvalidRequestError(f"{param}: no JSON object", param=param)
        return ToolCall(self.function.name, self.function.arguments or "{}")


class ToolFields(RequestModel):
    """The fields of a request that are about tools."""

    tools: Annotated[list[Tool], Field(max_length=MAX_TOOLS)] | None = told("functions that the model may call")
    tool_choice: ToolChoice | None = told("`none`, `auto`, `required`, or the one that must be called")
    parallel_tool_calls: bool | None = told("`false`: one call at most")

    @property
    def offered(self) -> list[Tool]:
        """Those that the model is told of."""
        return [] if self.tool_choice == "none" else self.tools or []

    @property
    def tools_text(self) -> str:
        """The same for the template, as JSON."""
        return json.dumps([tool.model_dump(exclude_none=True) for tool in self.offered], ensure_ascii=False)

    def calls_form(self, how: ToolFormat) -> AnswerForm | None:
        """What an answer is that must call a tool; None if it need not.

        Raises:
            InvalidRequestError: the tool that must be called is not there.
        """
        if self.tool_choice in (None, "none", "auto"):
            return None
        functions = [tool.function for tool in self.offered]
        if isinstance(self.tool_choice, NamedTool):
            name = self.tool_choice.function.name
            functions = [function for function in functions if function.name == name][:1]
            if not functions:
                raise InvalidRequestError(
                    f"tool_choice: there is no tool {name} in tools", param="tool_choice.function.name"
                )
        elif not functions:
            raise InvalidRequestError("tool_choice: there are no tools to call", param="tool_choice")
        described = [function.model_dump(exclude_none=True) for function in functions]
        parallel = self.parallel_tool_calls is not False and self.tool_choice == "required"
        return AnswerForm("calls", how.grammar(described, parallel=parallel))
