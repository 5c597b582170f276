"""Keywords of schemas that no mask enforces: named, or refused by a strict server."""

import json
from typing import Any

import pytest

from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.prompts.tool_offer import ToolOffer
from app.schemas.parsing import IgnoredFields, parse_body
from engine.api.errors import InvalidRequestError
from engine.api.sampling_params import SamplingParams
from models.chat.custom_input import parameters
from models.chat.tool_format import find_tool_format

SCHEMA = {"type": "array", "uniqueItems": True, "format": "path"}
MESSAGES = [{"role": "user", "content": "a"}]


def tool(*, strict: bool) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": strict}}


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}}},
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        {"structured_outputs": {"json": SCHEMA}},
        {"guided_json": json.dumps(SCHEMA)},
        {"tools": [tool(strict=True)]},
    ],
)
def test_keyword_is_named_and_a_strict_server_refuses_it(fields: dict[str, Any]) -> None:
    body, ignored = json.dumps({"model": "m", "messages": MESSAGES, **fields}).encode(), IgnoredFields()
    parse_body(ChatCompletionRequest, body, ignored)
    assert str(ignored) == "schema.uniqueItems"
    with pytest.raises(InvalidRequestError, match="uniqueItems is not enforced"):
        parse_body(ChatCompletionRequest, body)


def test_format_of_ollama_is_named_and_that_of_a_lax_tool_not() -> None:
    ignored = IgnoredFields()
    body: dict[str, Any] = {"model": "m", "messages": MESSAGES, "tools": [tool(strict=False)]}
    parse_body(OllamaChatRequest, json.dumps(body).encode(), ignored)
    assert not ignored
    parse_body(OllamaChatRequest, json.dumps({**body, "format": SCHEMA}).encode(), ignored)
    assert str(ignored) == "schema.uniqueItems"


def test_required_custom_tool_needs_an_enforceable_expression() -> None:
    held = {"name": "f", "parameters": parameters("(?=a)b"), "strict": True}
    offer = ToolOffer(functions=[held], choice="required", custom=frozenset({"f"}))
    with pytest.raises(InvalidRequestError, match="pattern of the input of f cannot be enforced"):
        offer.applied(SamplingParams(), find_tool_format({}, ""))
