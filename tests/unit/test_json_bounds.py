import json

import pytest

from app.limits import MAX_CONTAINERS, MAX_MESSAGES, MAX_STRINGS, MAX_VALUES
from app.schemas.chat_completions import ChatCompletionRequest
from app.schemas.completions import CompletionRequest
from app.schemas.json_bounds import UNCOUNTED_BYTES, check_bounds
from app.schemas.parsing import parse_body
from engine.errors import InvalidRequestError


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
def test_what_holds_too_much_is_refused_before_it_is_parsed(item: bytes, most: int, what: str) -> None:
    items = [b'"' + b"x" * UNCOUNTED_BYTES + b'"', *[item] * (most + 1)]
    error = refusal(b"[" + b",".join(items) + b"]")
    assert error.code == "body_too_complex"
    assert f" {what}; it may hold {most}" in error.message


@pytest.mark.parametrize("text", ['{"[",}' * 40_000, "\\" * 100_000, '\\"' * 100_000, "\n,[{" * 50_000])
def test_what_stands_in_a_string_is_text_whatever_it_looks_like(text: str) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    assert len(body) > UNCOUNTED_BYTES
    [turn] = parse_body(ChatCompletionRequest, body).messages
    assert turn.content == text


def test_as_many_token_ids_as_prompts_may_have_are_taken() -> None:
    ids = [[at % 1000 for at in range(2000)] for _ in range(128)]
    assert parse_body(CompletionRequest, json.dumps({"model": "m", "prompt": ids}).encode()).prompts() == ids


def test_of_a_list_that_is_wrong_throughout_the_first_fault_is_told() -> None:
    fields = {"model": "m", "messages": [{"content": "x"}] * MAX_MESSAGES}
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(ChatCompletionRequest, json.dumps(fields).encode())
    assert caught.value.param == "messages[0].role"
    fields["messages"] = [{"role": "user", "content": "x"}] * (MAX_MESSAGES + 1)
    with pytest.raises(InvalidRequestError) as caught:
        parse_body(ChatCompletionRequest, json.dumps(fields).encode())
    assert caught.value.param == "messages"


def test_an_object_of_more_fields_than_anybody_knows_is_refused() -> None:
    body = json.dumps({"model": "m", "messages": [], **{f"k{at}": 1 for at in range(5000)}}).encode()
    with pytest.raises(InvalidRequestError, match="The body has 5002 fields"):
        parse_body(ChatCompletionRequest, body)
