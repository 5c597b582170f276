"""The part of a prompt that a client marked for caching."""

from typing import Any

import pytest

from app.apis.anthropic.messages_schema import MessagesRequest
from app.apis.openai.chat_schema import ChatCompletionRequest
from app.schemas.cache_mark import marked_share
from app.schemas.parsing import parse_object
from engine.api.errors import InvalidRequestError

MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def test_share_ends_with_the_last_marked_part() -> None:
    assert marked_share([]) == marked_share([(0, True)]) == marked_share([(4, False)]) == 0
    assert marked_share([(4, True), (4, False), (8, True), (16, False)]) == 0.5
    assert marked_share([(4, False), (4, True)]) == 1


def text(content: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": content, **fields}


def user(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks), **fields}


def share_of_messages(**fields: Any) -> float:
    body = {"model": "m", "max_tokens": 5, "system": "s" * 30, "messages": [user(text("u" * 30)), user(text("v" * 60))]}
    return parse_object(MessagesRequest, {**body, **fields}).marked_share


def test_marks_of_messages_cover_all_before_them() -> None:
    assert share_of_messages() == 0
    assert share_of_messages(**MARK) == 1
    assert share_of_messages(system=[text("s" * 30, **MARK)]) == 0.25
    assert share_of_messages(messages=[user(text("u" * 30, **MARK)), user(text("v" * 60))]) == 0.5
    result = {"type": "tool_result", "tool_use_id": "a", "content": [text("r" * 60, **MARK)]}
    assert share_of_messages(messages=[user(text("u" * 30)), user(result)]) == 1
    tool = {"name": "f", "input_schema": {"type": "object"}}
    assert 0 < share_of_messages(tools=[{**tool, **MARK}, tool]) < 0.5
    assert share_of_messages(tools=[{**tool, "defer_loading": True, **MARK}, tool]) == 0


def share_of_chat(*messages: dict[str, Any], **fields: Any) -> float:
    return parse_object(ChatCompletionRequest, {"model": "m", "messages": list(messages), **fields}).marked_share


def test_chats_take_marks_of_gateways_breakpoints_and_keys() -> None:
    system, question = {"role": "system", "content": [text("s" * 30)]}, user(text("u" * 30))
    assert share_of_chat(system, question) == 0
    for mark in (MARK, {"prompt_cache_breakpoint": {"mode": "explicit"}}):
        assert share_of_chat({"role": "system", "content": [text("s" * 30, **mark)]}, question) == 0.5
    assert share_of_chat({"role": "system", "content": "s" * 30, **MARK}, question) == 0.5
    assert share_of_chat(system, question, prompt_cache_key="k") == 1
    assert share_of_chat({**system, **MARK}, question, prompt_cache_key="k") == 0.5


def test_mark_of_another_form_is_refused_by_name() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        share_of_messages(system=[text("s", cache_control={"type": "lasting"})])
    assert caught.value.param == "system[0].cache_control.type"
    with pytest.raises(InvalidRequestError) as caught:
        share_of_chat(user(text("u")), prompt_cache_key=5)
    assert caught.value.param == "prompt_cache_key"
