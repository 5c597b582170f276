"""The parts of a conversation with tools that a chat template writes by itself, found by rendering a call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Render = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]] | None], str | None]
"""Renders turns with tools, or without any if they are None. Returns None if the template refuses them."""

_TOOL: Final = "probe_of_tool"
_VALUE: Final = "probe_of_value"
_SECOND: Final = "probe_of_second"
_RESULT: Final = "probe_of_result"
_TEXT: Final = "probe_of_text"
CALL_ID: Final = "000000000"
"""Id of nine characters, as Mistral's templates need."""


@dataclass(frozen=True, slots=True)
class TemplateTools:
    """Parts of a conversation with tools that a chat template writes. Ebb writes the others into the contents.

    tools: descriptions of the tools.
    calls: calls of an answer.
    results: results of calls.
    has_null_content: the content of an answer without text is null, since an empty one would add a turn or be refused.
    needs_calls: results are lost, or written in another way, unless the message before them has calls.
    has_one_call: an answer with several calls is refused, or only the first one is written.
    """

    tools: bool = False
    calls: bool = False
    results: bool = False
    has_null_content: bool = False
    needs_calls: bool = False
    has_one_call: bool = False


NOTHING: Final = TemplateTools()

PROBE_TOOL: Final[Mapping[str, Any]] = {
    "type": "function",
    "function": {
        "name": _TOOL,
        "description": "d",
        "parameters": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
}


def probe(render: Render) -> TemplateTools:
    """Find what a template writes, by rendering."""
    user = {"role": "user", "content": "q"}
    described = render([user], [PROBE_TOOL]) or ""
    empty, null = (_written([user, _calling(content), _result()], render) for content in ("", None))
    has_null_content = null is not None and (empty is None or len(null) < len(empty))
    found = (null if has_null_content else empty) or ""
    several = render([user, _calling(None if has_null_content else "", _VALUE, _SECOND), _result(), _result()], None)
    alone = render([user, {"role": "assistant", "content": _TEXT}, _result()], None) or ""
    return TemplateTools(
        tools=_TOOL in described,
        calls=bool(found),
        results=_RESULT in found or _has_results(alone),
        has_null_content=has_null_content,
        needs_calls=_RESULT in found and not found.endswith(alone.rpartition(_TEXT)[2] or _TEXT),
        has_one_call=bool(found) and _SECOND not in (several or ""),
    )


def _has_results(rendered: str) -> bool:
    """Return whether a template that writes no calls has a form for results. A plain turn of the role is none."""
    _, _, after = rendered.rpartition(_TEXT)
    before, result, _ = after.partition(_RESULT)
    return bool(result) and "tool" not in before


def _written(turns: Sequence[Mapping[str, Any]], render: Render) -> str | None:
    """Return the rendering if it has the name and the arguments of the call."""
    text = render(turns, None)
    return text if text is not None and _TOOL in text and _VALUE in text else None


def calling(name: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return a call as templates expect it."""
    return {"id": CALL_ID, "type": "function", "function": {"name": name, "arguments": arguments}}


def _calling(content: str | None, *values: str) -> dict[str, Any]:
    calls = [calling(_TOOL, {"a": value}) for value in values or (_VALUE,)]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _result() -> dict[str, Any]:
    return {"role": "tool", "content": _RESULT, "name": _TOOL, "tool_call_id": CALL_ID}
