"""Custom tools of OpenAI's APIs, which take one text. The model reads each of them as a function with that argument."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from app.prompts.tool_offer import ToolOffer
from app.schemas.parsing import RequestModel
from engine.api.errors import InvalidRequestError
from models.chat.custom_input import parameters

MAX_GRAMMAR_LENGTH = 1 << 14


class GrammarDefinition(RequestModel):
    """A grammar of the input: a regular expression, or a grammar in a dialect of Lark."""

    syntax: Literal["lark", "regex"]
    definition: Annotated[str, Field(min_length=1, max_length=MAX_GRAMMAR_LENGTH)]


class AnyText(RequestModel):
    """Input of any form."""

    type: Literal["text"]


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the model reads it.

    function: `name`, and `description` and `parameters` if given.
    is_custom: the function stands for a custom tool.
    lark: the client's name of the input's Lark grammar, within the tool; None without one.
    """

    function: Mapping[str, Any]
    is_custom: bool = False
    lark: str | None = None


def custom_tool(name: str, description: str | None, grammar: GrammarDefinition | None, path: str) -> OfferedTool:
    """Represent a custom tool as a function. The model reads the grammar in the description.

    path: the client's name of the grammar's syntax, within the tool.
    """
    description_parts = [] if description is None else [description]
    if grammar is None:
        return OfferedTool(_function(name, description_parts, parameters()), is_custom=True)
    description_parts.append(f"The input follows this {grammar.syntax} grammar:\n{grammar.definition}")
    if grammar.syntax == "lark":
        return OfferedTool(_function(name, description_parts, parameters()), is_custom=True, lark=path)
    held = {**_function(name, description_parts, parameters(grammar.definition)), "strict": True}
    return OfferedTool(held, is_custom=True)


def offer_of_tools(tools: Mapping[str, OfferedTool], *, parallel: bool) -> ToolOffer:
    """Build the offer of `tools`, in the order of the request, among which the model is free to choose.

    tools: by their path in the request.

    Raises:
        InvalidRequestError: a custom tool has the name of another tool.
    """
    custom = frozenset(str(tool.function["name"]) for tool in tools.values() if tool.is_custom)
    names = set[str]()
    for path, tool in tools.items():
        name = str(tool.function["name"])
        if name in names and name in custom:
            raise InvalidRequestError(f"{path}: another tool has the name {name}", param=path)
        names.add(name)
    lark = {str(tool.function["name"]): f"{path}.{tool.lark}" for path, tool in tools.items() if tool.lark}
    return ToolOffer(functions=[tool.function for tool in tools.values()], parallel=parallel, custom=custom, lark=lark)


def _function(name: str, description_parts: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    described = {"description": "\n\n".join(description_parts)} if description_parts else {}
    return {"name": name, **described, "parameters": schema}
