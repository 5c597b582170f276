"""Tools as clients of OpenAI's Responses API describe and choose them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, Tag

from app.apis.openai.custom_tools import AnyText, GrammarDefinition, OfferedTool, custom_tool, offer_of_tools
from app.apis.openai.tools_schema import BY_CHOICE, MAX_TOOLS, Function, FunctionName
from app.domain.namespaces import name_within
from app.prompts.tool_offer import NamedChoice, ToolOffer
from app.schemas.hosted_tools import HostedTool, MayBeHosted, NotHosted, hosted
from app.schemas.parsing import RequestModel, by_type
from engine.api.errors import InvalidRequestError

MAX_FUNCTIONS: Final = 1024
"""Maximum number of tools, those of namespaces included."""

_IGNORED: Final = frozenset({"allowed_callers", "defer_loading"})
"""A tool is described at the beginning of the prompt, and the model calls it directly."""
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {"async": (False,)}


class FunctionTool(Function):
    """A function that the client runs."""

    ignored: ClassVar[frozenset[str]] = _IGNORED | {"output_schema"}
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
    by_type(AnyText, {"grammar": GrammarFormat}),
]


class CustomTool(RequestModel):
    """A custom tool: the client runs it with one text."""

    ignored: ClassVar[frozenset[str]] = _IGNORED
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


_CUSTOM: Final = {"custom": CustomTool}


class NamespaceTool(RequestModel):
    """A group of tools, such as those of an MCP server that the client connects to.

    The model reads each tool under its name within the namespace. The description of the group is not in the prompt.
    """

    type: Literal["namespace"]
    name: FunctionName
    description: str | None = None
    tools: Annotated[
        list[
            Annotated[
                Annotated[FunctionTool, Tag("<FunctionTool>")]
                | Annotated[CustomTool, Tag("<CustomTool>")]
                | Annotated[HostedTool, Tag("<HostedTool>")],
                by_type(FunctionTool, _CUSTOM, hosted),
                MayBeHosted,
            ]
        ],
        Field(max_length=MAX_FUNCTIONS),
    ]


ResponseTool = FunctionTool | CustomTool | NamespaceTool | HostedTool
ResponseTools = Annotated[
    list[
        Annotated[
            Annotated[FunctionTool, Tag("<FunctionTool>")]
            | Annotated[CustomTool, Tag("<CustomTool>")]
            | Annotated[NamespaceTool, Tag("<NamespaceTool>")]
            | Annotated[HostedTool, Tag("<HostedTool>")],
            by_type(FunctionTool, {**_CUSTOM, "namespace": NamespaceTool}, hosted),
            MayBeHosted,
        ]
    ],
    Field(max_length=MAX_TOOLS),
]


class ToolByName(RequestModel):
    """The tool that must be called."""

    type: Literal["function", "custom"]
    name: FunctionName
    namespace: str | None = None


class AllowedByName(RequestModel):
    """The tools that may be called, out of those that the request describes."""

    type: Literal["allowed_tools"]
    mode: Literal["auto", "required"]
    tools: Annotated[list[Annotated[ToolByName, NotHosted]], Field(min_length=1, max_length=MAX_TOOLS)]


ResponseChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")]
    | Annotated[ToolByName, NotHosted, Tag("<named>")]
    | Annotated[AllowedByName, Tag("<allowed>")],
    BY_CHOICE,
]


def offer_of(
    tools: Mapping[str, Sequence[ResponseTool]],
    choice: str | ToolByName | AllowedByName | None,
    *,
    parallel: bool,
) -> ToolOffer:
    """Build the tool offer of a request.

    tools: lists of tools, by their path in the request. A tool of a later list replaces one of an earlier list.

    Raises:
        InvalidRequestError: there are too many tools, a custom tool has the name of another tool, or the choice is
            limited to a tool that is not offered.
    """
    offered, namespaces = dict[str, OfferedTool](), dict[str, tuple[str, str]]()
    for listed in tools.items():
        added = dict(_flat(*listed))
        names = {name_within(namespace, tool.name) for namespace, tool in added.values()}
        offered = {path: tool for path, tool in offered.items() if tool.function["name"] not in names}
        for path, (namespace, tool) in added.items():
            name = name_within(namespace, tool.name)
            offered[path] = replace(tool.offered, function={**tool.offered.function, "name": name})
            if namespace is not None:
                namespaces[name] = (namespace, tool.name)
    if len(offered) > MAX_FUNCTIONS:
        raise InvalidRequestError(
            f"tools: there are {len(offered)} tools, those of namespaces included; at most {MAX_FUNCTIONS} are allowed",
            param="tools",
        )
    offer = replace(offer_of_tools(offered, parallel=parallel), namespaces=namespaces)
    match choice:
        case ToolByName():
            return replace(offer, choice=NamedChoice(_full_name(choice, offer), "tool_choice.name"))
        case AllowedByName(mode=mode, tools=allowed):
            return offer.among([_full_name(tool, offer) for tool in allowed], mode, param="tool_choice.tools")
        case "none" | "required":
            return replace(offer, choice=choice)
    return offer


def _flat(
    path: str, tools: Iterable[ResponseTool]
) -> Iterator[tuple[str, tuple[str | None, FunctionTool | CustomTool]]]:
    """Yield the path of each tool of a list that the model reads, its namespace, and the tool itself."""
    for index, tool in enumerate(tools):
        at = f"{path}[{index}]"
        if isinstance(tool, NamespaceTool):
            members = ((f"{at}.tools[{number}]", member) for number, member in enumerate(tool.tools))
            yield from ((place, (tool.name, each)) for place, each in members if not isinstance(each, HostedTool))
        elif not isinstance(tool, HostedTool):
            yield at, (None, tool)


def _full_name(tool: ToolByName, offer: ToolOffer) -> str:
    """Return the name under which the model reads a tool. A name without its namespace is enough if it is the only one.

    The types of OpenAI's client have no namespace in a choice.
    """
    if tool.namespace is not None:
        return name_within(tool.namespace, tool.name)
    if any(function["name"] == tool.name for function in offer.functions):
        return tool.name
    found = [full for full, (_, name) in offer.namespaces.items() if name == tool.name]
    return found[0] if len(found) == 1 else tool.name
