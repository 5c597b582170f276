"""Tools as clients of OpenAI's Responses API describe and choose them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag

from app.apis.openai.custom_tools import AnyText, GrammarDefinition, OfferedTool, custom_tool, offer_of_tools
from app.apis.openai.tools_schema import MAX_TOOLS, Function, FunctionName, choice_kind
from app.prompts.tool_offer import NamedChoice, ToolOffer
from app.schemas.hosted_tools import NotHosted
from app.schemas.parsing import RequestModel, kind_by_type

_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "defer_loading": (False,),
    "allowed_callers": (["direct"],),
    "async": (False,),
}


class FunctionTool(Function):
    """A function that the client runs. Tools that OpenAI's servers would run are refused."""

    ignored: ClassVar[frozenset[str]] = frozenset({"output_schema"})
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = _NEUTRAL

    type: Literal["function"]

    @property
    def offered(self) -> OfferedTool:
        """The tool as the model reads it."""
        return OfferedTool(self.model_dump(exclude_none=True, exclude={"type"}))


class GrammarFormat(GrammarDefinition):
    """Input that follows a grammar."""

    type: Literal["grammar"]


InputFormat = Annotated[
    Annotated[AnyText, Tag("<AnyText>")] | Annotated[GrammarFormat, Tag("<GrammarFormat>")],
    Discriminator(kind_by_type(AnyText, {"grammar": GrammarFormat})),
]


class CustomTool(RequestModel):
    """A custom tool: the client runs it with one text."""

    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = _NEUTRAL

    type: Literal["custom"]
    name: FunctionName
    description: str | None = None
    format: InputFormat = AnyText(type="text")

    @property
    def offered(self) -> OfferedTool:
        """The tool as the model reads it."""
        grammar = self.format if isinstance(self.format, GrammarFormat) else None
        return custom_tool(self.name, self.description, grammar, "format.syntax")


ResponseTool = FunctionTool | CustomTool
ResponseTools = Annotated[
    list[
        Annotated[
            Annotated[FunctionTool, Tag("<FunctionTool>")] | Annotated[CustomTool, Tag("<CustomTool>")],
            Discriminator(kind_by_type(FunctionTool, {"custom": CustomTool})),
            NotHosted,
        ]
    ],
    Field(max_length=MAX_TOOLS),
]


class ToolByName(RequestModel):
    """The tool that must be called."""

    type: Literal["function", "custom"]
    name: FunctionName


class AllowedByName(RequestModel):
    """The tools that may be called, out of those that the request describes."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[Annotated[ToolByName, NotHosted]], Field(min_length=1, max_length=MAX_TOOLS)]


ResponseChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")]
    | Annotated[ToolByName, NotHosted, Tag("<named>")]
    | Annotated[AllowedByName, Tag("<allowed>")],
    Discriminator(choice_kind),
]


def offer_of(
    tools: list[ResponseTool] | None, choice: str | ToolByName | AllowedByName | None, *, parallel: bool
) -> ToolOffer:
    """Build the tool offer from the fields `tools`, `tool_choice` and `parallel_tool_calls`."""
    offer = offer_of_tools([tool.offered for tool in tools or ()], parallel=parallel)
    match choice:
        case ToolByName(name=name):
            return replace(offer, choice=NamedChoice(name, "tool_choice.name"))
        case AllowedByName(mode=mode, tools=allowed):
            return offer.among([tool.name for tool in allowed], mode, param="tool_choice.tools")
        case "none" | "required":
            return replace(offer, choice=choice)
    return offer
