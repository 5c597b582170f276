"""The form of the calls in an answer that may also be text."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.prompts.call_or_form import shallow
from engine.api.errors import InvalidRequestError
from engine.api.structured_output import StructuredOutput
from engine.grammar.enforceable import enforceable
from engine.grammar.limits import check_form
from models.chat.tool_format import ToolFormat


def free_calls(functions: Sequence[Mapping[str, Any]], tools: ToolFormat, *, parallel: bool) -> StructuredOutput:
    """Return the form of calls of `functions`, for an answer whose text is free.

    The whole schema of a strict tool is enforced where that is possible. Other tools have their required arguments and
    their types enforced: the form is small whatever the schema, and its compilation does not fail.
    """
    described = [each if _is_enforced(each, tools) else shallow(each) for each in functions]
    return StructuredOutput("calls", tools.free_grammar(described, parallel=parallel))


def _is_enforced(function: Mapping[str, Any], tools: ToolFormat) -> bool:
    """Return whether all of the function's schema is to be enforced, and can be."""
    if function.get("strict") is not True or enforceable(function.get("parameters")).left_out:
        return False
    try:
        check_form(StructuredOutput("calls", tools.free_grammar([function], parallel=False)))
    except InvalidRequestError:
        return False
    return True
