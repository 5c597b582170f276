"""Arguments of tool calls as objects."""

import json
import sys

from app.apis.call_arguments import arguments_object
from models.chat.tool_calls import ToolCall


def test_number_beyond_a_double_becomes_the_nearest_double() -> None:
    read = arguments_object(ToolCall("f", '{"a": [{"b": -4816E30487}, 1e999], "c": 1.5}'))
    largest = sys.float_info.max
    assert read == {"a": [{"b": -largest}, largest], "c": 1.5}
    assert json.loads(json.dumps(read, allow_nan=False)) == read
