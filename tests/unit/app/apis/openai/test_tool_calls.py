"""Streaming of several answers with tool calls in one response."""

import json

from app.apis.openai.serializer import Head
from app.apis.openai.tool_calls import ToolCallShape
from app.prompts.tool_offer import ToolOffer
from engine.outputs import RequestOutput
from models.tool_format import find_tool_format


def content_of(frames: bytes) -> list[tuple[int, str, str | None]]:
    """Return (index, text, finish reason) of each chunk."""
    chunks = [json.loads(line.removeprefix("data: ")) for line in frames.decode().split("\n\n") if line]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    return [(choice["index"], choice["delta"].get("content", ""), choice["finish_reason"]) for choice in choices]


def test_held_back_text_precedes_finish_reason_of_its_answer() -> None:
    head = Head.new("chatcmpl", model="m", fingerprint="f")
    shape = ToolCallShape(find_tool_format({}, ""), ToolOffer(), head, index=1)
    # The held-back text could have been the start of a call.
    shown = content_of(shape.step(RequestOutput("r", "if a <tool", ())))
    assert shown == [(1, "if a ", None)]
    ended = content_of(shape.reason(RequestOutput("r", "", (7,), "length")))
    assert ended == [(1, "<tool", None), (1, "", "length")]
