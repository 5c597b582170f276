"""Number of tools that each API takes."""

from typing import Any

import pytest

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.responses.schema import ResponseRequest
from app.schemas.parsing import RequestModel, parse_object
from engine.api.errors import InvalidRequestError

SAID = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def wrapped(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


@pytest.mark.parametrize(
    ("request_type", "body", "tool"),
    [
        (ChatCompletionRequest, SAID, wrapped),
        (OllamaChatRequest, SAID, wrapped),
        (ResponseRequest, {"model": "m", "input": "hi"}, lambda name: {"type": "function", "name": name}),
        (MessagesRequest, {**SAID, "max_tokens": 5}, lambda name: {"name": name, "input_schema": {"type": "object"}}),
    ],
)
def test_request_has_up_to_256_tools(request_type: type[RequestModel], body: dict[str, Any], tool: Any) -> None:
    def offer(count: int) -> Any:
        parsed: Any = parse_object(request_type, {**body, "tools": [tool(f"f{at}") for at in range(count)]})
        return parsed.offer

    assert len(offer(256).functions) == 256
    with pytest.raises(InvalidRequestError) as refused:
        offer(257)
    assert refused.value.param == "tools"
