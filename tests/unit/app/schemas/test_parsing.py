import json
from typing import Any

import pytest

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.responses.schema import ResponseRequest
from app.schemas.parsing import MAX_NAME_LENGTH, MAX_NAMED, IgnoredFields, RequestModel, parse_body
from engine.api.errors import InvalidRequestError

USER = {"role": "user", "content": "hi"}
CHAT = {"model": "m", "messages": [USER]}
MESSAGES = CHAT | {"max_tokens": 5}


def ignored_in(model: type[RequestModel], body: dict[str, Any]) -> str:
    unknown = IgnoredFields()
    parse_body(model, json.dumps(body).encode(), unknown)
    return str(unknown)


@pytest.mark.parametrize(
    ("model", "body", "named"),
    [
        (ChatCompletionRequest, CHAT, ""),
        (ChatCompletionRequest, CHAT | {"user": "me", "colour": 1, "shape": None}, "colour, shape"),
        (ChatCompletionRequest, CHAT | {"messages": [USER, USER | {"mood": 1}]}, "ChatMessage.mood"),
        (ChatCompletionRequest, CHAT | {"structured_outputs": {"json": {}, "mood": 1}}, "StructuredOutputs.mood"),
        (MessagesRequest, MESSAGES | {"system": [{"type": "text", "text": "a", "mood": 1}]}, "TextBlock.mood"),
        (ResponseRequest, {"model": "m", "input": [USER | {"mood": 1}]}, "InputItem.mood"),
    ],
)
def test_unknown_fields_are_collected(model: type[RequestModel], body: dict[str, Any], named: str) -> None:
    assert ignored_in(model, body) == named


def test_unknown_field_has_no_effect_on_the_rest() -> None:
    body = json.dumps(CHAT | {"messages": [USER | {"mood": 1}], "colour": 1, "top_k": 3}).encode()
    assert parse_body(ChatCompletionRequest, body, IgnoredFields()) == parse_body(
        ChatCompletionRequest, json.dumps(CHAT | {"top_k": 3}).encode()
    )


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"modalities": ["audio"]}, "modalities"),
        ({"structured_outputs": {"structural_tag": "{}"}}, "structured_outputs.structural_tag"),
    ],
)
def test_known_unsupported_field_is_refused_by_its_path(fields: dict[str, Any], param: str) -> None:
    for unknown in (None, IgnoredFields()):
        with pytest.raises(InvalidRequestError) as caught:
            parse_body(ChatCompletionRequest, json.dumps(CHAT | fields).encode(), unknown)
        assert (caught.value.param, caught.value.code) == (param, "unsupported")


def test_object_of_far_too_many_fields_is_refused() -> None:
    message = USER | {f"field{number}": 1 for number in range(300)}
    with pytest.raises(InvalidRequestError, match=r"messages\[0\] has 302 fields") as caught:
        ignored_in(ChatCompletionRequest, CHAT | {"messages": [message]})
    assert caught.value.param == "messages[0]"


def test_names_of_ignored_fields_are_bounded() -> None:
    many = {f"f{number}": 1 for number in range(MAX_NAMED + 1)}
    assert ignored_in(ChatCompletionRequest, CHAT | many).split(", ") == [*list(many)[:MAX_NAMED], "..."]
    messages = [{"role": "user", "content": "hi", "mood": 1}] * 2
    few = dict(list(many.items())[: MAX_NAMED - 1])
    assert ignored_in(ChatCompletionRequest, {**CHAT, **few, "messages": messages}).endswith(", ChatMessage.mood")
    long, unprintable = "n" * 1000, "a\r\nSet-Cookie: b, ü"
    assert ignored_in(ChatCompletionRequest, CHAT | {long: 1}) == "n" * MAX_NAME_LENGTH
    assert ignored_in(ChatCompletionRequest, CHAT | {unprintable: 1}) == "a??Set-Cookie:?b???"


def test_texts_of_a_body_are_not_kept_for_later_ones() -> None:
    body = json.dumps({"model": "a model", "messages": [{"role": "user", "content": "a secret"}]}).encode()
    first, second = (parse_body(ChatCompletionRequest, body).messages[0].content for _ in range(2))
    assert first == second
    assert first is not second
