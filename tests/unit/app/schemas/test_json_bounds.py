import json

import pytest

from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.openai.completions_schema import CompletionRequest
from app.domain.bounds import MAX_CONTAINERS, MAX_MESSAGES, MAX_STRINGS, MAX_VALUES
from app.schemas.json_bounds import UNCOUNTED_BYTES, check_bounds
from app.schemas.parsing import parse_body
from engine.api.errors import InvalidRequestError


def refusal(body: bytes) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        check_bounds(body)
    return caught.value


@pytest.mark.parametrize(
    ("item", "most", "what"),
    [
        (b"[]", MAX_CONTAINERS, "lists and objects"),
        (b'{"a":[]}', MAX_CONTAINERS, "lists and objects"),
        (b'"a"', MAX_STRINGS, "strings"),
        (b'"\\\\"', MAX_STRINGS, "strings"),
        (b"7", MAX_VALUES, "values"),
    ],
)
def test_too_complex_body_is_rejected_before_parsing(item: bytes, most: int, what: str) -> None:
    items = [b'"' + b"x" * UNCOUNTED_BYTES + b'"', *[item] * (most + 1)]
    error = refusal(b"[" + b",".join(items) + b"]")
    assert error.code == "body_too_complex"
    assert f" {what}; at most {most} are allowed" in error.message


@pytest.mark.parametrize("text", ['{"[",}' * 40_000, "\\" * 100_000, '\\"' * 100_000, "\n,[{" * 50_000])
def test_json_syntax_inside_string_is_not_counted(text: str) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    assert len(body) > UNCOUNTED_BYTES
    [turn] = parse_body(ChatCompletionRequest, body).messages
    assert turn.content == text


def test_maximum_number_of_token_ids_is_accepted() -> None:
    ids = [[at % 1000 for at in range(2000)] for _ in range(128)]
    assert parse_body(CompletionRequest, json.dumps({"model": "m", "prompt": ids}).encode()).prompts() == ids


def test_first_fault_of_invalid_list_is_reported() -> None:
    fields = {"model": "m", "messages": [{"content": "x"}] * MAX_MESSAGES}
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(ChatCompletionRequest, json.dumps(fields).encode())
    assert caught.value.param == "messages[0].role"
    fields["messages"] = [{"role": "user", "content": "x"}] * (MAX_MESSAGES + 1)
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(ChatCompletionRequest, json.dumps(fields).encode())
    assert caught.value.param == "messages"


def test_object_with_too_many_fields_is_rejected() -> None:
    body = json.dumps({"model": "m", "messages": [], **{f"k{at}": 1 for at in range(5000)}}).encode()
    with pytest.raises(InvalidRequestError, match="The body has 5002 fields"):
        parse_body(ChatCompletionRequest, body)
