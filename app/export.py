"""Conversations as files: all of their branches as JSON, which can be imported again, or what is shown as Markdown."""

import re
import time
from collections.abc import Sequence
from typing import Any

from app.records import Conversation, Message

FORMAT = "ebb-conversations"
FORMAT_VERSION = 1

_CONVERSATION = (
    "title",
    "title_source",
    "system_prompt",
    "params",
    "pinned",
    "archived",
    "created_at",
    "updated_at",
)
_MESSAGE = (
    "id",
    "parent_id",
    "role",
    "content",
    "reasoning",
    "status",
    "finish_reason",
    "error",
    "usage",
    "params",
    "created_at",
    "completed_at",
)
_SPEAKERS = {"system": "System", "user": "You", "assistant": "Assistant"}


def file_head() -> dict[str, Any]:
    """The fields of a JSON file beside its conversations."""
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "exported_at": time.time()}


def exported(conversation: Conversation, export_id: str, messages: Sequence[Message]) -> dict[str, Any]:
    """One of the "conversations" of a JSON file. messages: all of it.

    Token ids stay here: they would let a file say one thing to its reader and another one to the model.
    """
    ids = [message.id for message in messages]
    # It may have been deleted since the conversation was read.
    head_id = conversation.head_id if conversation.head_id in ids else next(reversed(ids), None)
    fields = {name: getattr(conversation, name) for name in _CONVERSATION}
    return {"id": export_id, **fields, "head_id": head_id, "messages": [_message(message) for message in messages]}


def _message(message: Message) -> dict[str, Any]:
    fields = {name: getattr(message, name) for name in _MESSAGE}
    # Whoever imports it has no run that could go on.
    return {**fields, "status": "incomplete"} if message.status == "in_progress" else fields


def markdown(conversation: Conversation, path: Sequence[Message]) -> str:
    """The messages of a path, under their speakers."""
    parts = [f"# {_one_line(conversation.title or 'Untitled')}"]
    if conversation.system_prompt:
        parts.append(f"## System\n\n{conversation.system_prompt}")
    parts += [f"## {_SPEAKERS[message.role]}\n\n{message.content}" for message in path]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
