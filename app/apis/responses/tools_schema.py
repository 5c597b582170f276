"""Tools as clients of OpenAI's Responses API describe and choose them."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from app.apis.openai.tools_schema import MAX_TOOLS, Function, FunctionName, choice_kind
from app.prompts.tool_offer import NamedChoice, ToolOffer
from app.schemas.parsing import RequestModel


class FunctionTool(Function):
    """A function that the client runs. Tools that OpenAI's servers would run are refused."""

    ignored: ClassVar[frozenset[str]] = frozenset({"output_schema"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "defer_loading": (False,),
        "allowed_callers": (["direct"],),
        "async": (False,),
    }

    type: Literal["function"]


ResponseTools = Annotated[list[FunctionTool], Field(max_length=MAX_TOOLS)]


class ChosenFunction(RequestModel):
    """The function that must be called."""

    type: Literal["function"]
    name: FunctionName


class AllowedFunctions(RequestModel):
    """The functions that may be called, out of those that the request describes."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[ChosenFunction], Field(min_length=1, max_length=MAX_TOOLS)]


ResponseChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")]
    | Annotated[ChosenFunction, Tag("<named>")]
    | Annotated[AllowedFunctions, Tag("<allowed>")],
    Discriminator(choice_kind),
]


def offer_of(
    tools: list[FunctionTool] | None, choice: str | ChosenFunction | AllowedFunctions | None, *, parallel: bool
) -> ToolOffer:
    """Build the tool offer from the fields `tools`, `tool_choice` and `parallel_tool_calls`."""
    functions = [tool.model_dump(exclude_none=True, exclude={"type"}) for tool in tools or ()]
    match choice:
        case ChosenFunction(name=name):
            return ToolOffer(functions, NamedChoice(name, "tool_choice.name"), parallel=parallel)
        case AllowedFunctions(mode=mode, tools=allowed):
            offer = ToolOffer(functions, parallel=parallel)
            return offer.among([function.name for function in allowed], mode, param="tool_choice.tools")
        case "none" | "required":
            return ToolOffer(functions, choice, parallel=parallel)
    return ToolOffer(functions, parallel=parallel)
