"""Errors about a value of another kind: each names its field and all that is allowed there."""

import json
from typing import Any

import pytest

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.openai.completions_schema import CompletionRequest
from app.apis.openai.embeddings_schema import EmbeddingsRequest
from app.apis.responses.schema import ResponseRequest
from app.schemas.parsing import IgnoredFields, RequestModel, parse_body
from engine.api.errors import InvalidRequestError

HI = [{"role": "user", "content": "Hi"}]
REQUIRED: dict[type[RequestModel], dict[str, Any]] = {
    ChatCompletionRequest: {"model": "m", "messages": HI},
    CompletionRequest: {"model": "m", "prompt": "Hi"},
    ResponseRequest: {"model": "m", "input": "Hi"},
    MessagesRequest: {"model": "m", "messages": HI, "max_tokens": 5},
    OllamaChatRequest: {"model": "m", "messages": HI},
    EmbeddingsRequest: {"model": "m", "input": "Hi"},
}
GRAMMAR = {"type": "grammar", "grammar": "start: /a/"}
FORMATS = "must be one of text, json_object, json_schema"
CHOICES = "must be one of function, custom, allowed_tools"
CASES: list[tuple[type[RequestModel], str, Any, str, str]] = [
    (ChatCompletionRequest, "response_format", GRAMMAR, "response_format.type", FORMATS),
    (ChatCompletionRequest, "response_format", {}, "response_format.type", FORMATS),
    (ChatCompletionRequest, "response_format", "json", "response_format", "Input should be a JSON object"),
    (CompletionRequest, "response_format", GRAMMAR, "response_format.type", FORMATS),
    (ResponseRequest, "text", {"format": GRAMMAR}, "text.format.type", FORMATS),
    (
        MessagesRequest,
        "output_config",
        {"format": GRAMMAR},
        "output_config.format.type",
        "Input should be 'json_schema'",
    ),
    (ChatCompletionRequest, "tool_choice", {"type": "any"}, "tool_choice.type", CHOICES),
    (ChatCompletionRequest, "tool_choice", 5, "tool_choice", "Input should be 'none', 'auto', 'required' or 'any'"),
    (ResponseRequest, "tool_choice", {"type": "any"}, "tool_choice.type", CHOICES),
    (MessagesRequest, "tool_choice", {"type": "x"}, "tool_choice.type", "must be one of auto, any, none, tool"),
    (MessagesRequest, "tool_choice", "auto", "tool_choice", "Input should be a JSON object"),
    (ChatCompletionRequest, "thinking", 5, "thinking", "Input should be 'slow', 'auto' or 'off', or a JSON object"),
    (ChatCompletionRequest, "messages", [{"role": "user", "content": 5}], "messages[0].content", "a text or a list"),
    (ResponseRequest, "input", 5, "input", "Input should be a text or a list"),
    (ResponseRequest, "conversation", 5, "conversation", "Input should be a text or a JSON object"),
    (MessagesRequest, "system", 5, "system", "Input should be a text or a list"),
    (CompletionRequest, "prompt", 5, "prompt", "Input should be a text or a list"),
    (EmbeddingsRequest, "input", 5, "input", "Input should be a text or a list"),
    (ChatCompletionRequest, "stop", 5, "stop", "Input should be a text or a list"),
    (ChatCompletionRequest, "guided_json", 5, "guided_json", "Input should be a JSON Schema: an object or a text"),
    (ChatCompletionRequest, "structured_outputs", {"json": 5}, "structured_outputs.json", "an object or a text"),
    (OllamaChatRequest, "format", "xml", "format", "Input should be 'json' or a JSON Schema"),
    (OllamaChatRequest, "think", 5, "think", "Input should be true, false, 'low', 'medium', 'high' or 'max'"),
]


@pytest.mark.parametrize(("model", "field", "value", "named", "said"), CASES)
def test_error_names_field_and_what_is_allowed(
    model: type[RequestModel], field: str, value: Any, named: str, said: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(model, json.dumps(REQUIRED[model] | {field: value}).encode(), IgnoredFields())
    assert caught.value.param == named
    assert said in str(caught.value)
