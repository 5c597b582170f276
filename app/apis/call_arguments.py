"""The arguments of a tool call as an object, for APIs that do not send them as text."""

from typing import Any

from pydantic_core import from_json

from models.tool_calls import ToolCall


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Read the arguments. If a call was cut within a text, a number or a field, the object lacks it."""
    read = from_json(call.arguments, allow_partial=True) if call.arguments else {}
    return read if isinstance(read, dict) else {}
