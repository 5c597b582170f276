"""The end of a file's reading, in each pass over its messages."""

import json
from typing import Any

import pytest

from app.conversations.formats.checked import Checked
from app.conversations.formats.registry import format_of
from app.conversations.formats.tree import imported_from
from app.conversations.imported_files import read_any
from app.domain.bounds import MAX_IMPORT_BYTES
from tests.unit.costs.test_imports import Chat, chatgpt, claude, librechat, librechat_tree, open_webui


class LeftError(Exception):
    """The client has left."""


def leave() -> None:
    raise LeftError


@pytest.mark.parametrize("chat", [chatgpt, claude, librechat, librechat_tree, open_webui])
def test_reading_and_conversion_of_a_chat_can_be_ended(chat: Chat) -> None:
    value = chat(4)
    found = format_of(value)
    assert found is not None
    with pytest.raises(LeftError):
        found.read(Checked(value, leave), 0.0)
    read = found.read(Checked(value), 0.0)
    with pytest.raises(LeftError):
        imported_from(read, "chat", MAX_IMPORT_BYTES, leave)


@pytest.mark.parametrize("parts", [1, 50])
def test_each_part_of_a_message_is_a_place_to_end(parts: int) -> None:
    calls = list[None]()
    found = format_of(value := chatgpt(1, parts=parts))
    assert found is not None
    found.read(Checked(value, lambda: calls.append(None)), 0.0)
    assert len(calls) > parts


def own_file(messages: int) -> bytes:
    """Return a file that Ebb exported, with one conversation."""
    each = {"parent_id": None, "role": "user", "content": "a", "status": "complete", "created_at": 1.0}
    said = [each | {"id": f"msg_{at}"} for at in range(messages)]
    chat: dict[str, Any] = {
        "id": "conv_a",
        "title": None,
        "params": {},
        "pinned": False,
        "archived": False,
        "head_id": "msg_0",
    }
    chat |= {"created_at": 1.0, "updated_at": 1.0, "messages": said, "system_prompt": None}
    return json.dumps({"format": "ebb-conversations", "format_version": 3, "conversations": [chat]}).encode()


def test_conversion_of_an_own_file_can_be_ended() -> None:
    def calls(messages: int) -> int:
        made = list[None]()
        read_any(own_file(messages), lambda: made.append(None))
        return len(made)

    # One before the value of a message, and one in its conversion.
    assert calls(50) - calls(10) == 2 * 40
