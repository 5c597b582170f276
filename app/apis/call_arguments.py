"""The arguments of a tool call as an object, for APIs that do not send them as text."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from math import isinf
from typing import Any

from pydantic_core import from_json

from app.prompts.tool_offer import ToolOffer
from models.chat.format import Message
from models.chat.tool_calls import ToolCall, read_object
from models.chat.tool_format import ToolFormat


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Read the arguments. If a call was cut within a text, a number or a field, the object lacks it.

    A number beyond a double becomes the nearest double, because no parser reads an infinite one.
    """
    # By default, the parser keeps 16,384 short texts of earlier calls for good.
    read = from_json(call.arguments, allow_partial=True, cache_strings="keys") if call.arguments else {}
    return _finite(read) if isinstance(read, dict) else {}


def _finite(value: Any) -> Any:
    match value:
        case dict():
            return {name: _finite(each) for name, each in value.items()}
        case list():
            return [_finite(each) for each in value]
        case float() if isinf(value):
            return sys.float_info.max if value > 0 else -sys.float_info.max
    return value


def arguments_text(value: Mapping[str, Any]) -> str:
    """Write the arguments of a call that a client sent."""
    return json.dumps(value, ensure_ascii=False)


def as_message_with_objects(
    offer: ToolOffer, tools: ToolFormat, text: str, cut_before: str | None, *, is_streamed: bool
) -> Message:
    """Convert an answer's text to the message that the client will send back.

    A cut call of a stream has the object that was sent. In a whole answer it is text. A complete call also has the
    object that was sent, if its arguments have a number beyond a double.

    cut_before: as in `engine.api.outputs.RequestOutput`.
    """
    message = offer.as_message(tools, text, cut_before, only_complete=not is_streamed)
    calls = (
        call
        if call.is_complete and read_object(call.arguments or "{}") is not None
        else replace(call, arguments=arguments_text(arguments_object(call)))
        for call in message.tool_calls
    )
    return replace(message, tool_calls=tuple(calls))
