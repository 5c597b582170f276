"""Conversations that ChatGPT exports (`conversations.json`): a map of nodes, each with its parent and its message.

The format is not documented. This module follows files of 2023 to 2026.
"""

import re
from typing import Any, Final

from app.conversations.formats.checked import Checked, malformed
from app.conversations.formats.tree import ForeignChat, LeftOut, Node

NAME: Final = "chatgpt"

_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""Mark of a citation in the text, which means nothing without its source."""

_OF_TOOLS: Final = {"execution_output", "tether_quote", "tether_browsing_display", "system_error", "computer_output"}
_OF_SYSTEM: Final = {"user_editable_context", "model_editable_context", "app_pairing_content"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    return "mapping" in members


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation. Raises InvalidRequestError."""
    created_at = given.seconds("create_time") or now
    chat = ForeignChat(
        source=given.text("conversation_id") or given.text("id"),
        title=given.text("title"),
        created_at=created_at,
        updated_at=given.seconds("update_time") or created_at,
        pinned=given.flag("is_starred"),
        archived=given.flag("is_archived"),
        head=given.text("current_node") or None,
    )
    for name, node in given.child("mapping").named():
        chat.nodes[name] = _node(chat, node)
    return chat


def _node(chat: ForeignChat, given: Checked) -> Node:
    parent = given.text("parent") or None
    message = given.child("message")
    if not message.members:
        return Node(parent)
    role, content = message.child("author").text("role"), message.child("content")
    if (kind := _left_out(message, role, content)) is not None:
        chat.left_out[kind] += _is_noticed(content, kind)
        return Node(parent)
    text, reasoning = _texts(chat, content)
    if not text and not reasoning:
        return Node(parent)
    status, reason = _ending(message) if role == "assistant" else ("complete", None)
    return Node(
        parent,
        "assistant" if role == "assistant" else "user",
        text,
        reasoning,
        message.seconds("create_time"),
        "incomplete" if status == "incomplete" else "complete",
        reason,
    )


def _left_out(message: Checked, role: str, content: Checked) -> LeftOut | None:
    """Return the kind under which the whole message is left out; None if it is not."""
    kind = content.text("content_type")
    hidden = message.child("metadata").flag("is_visually_hidden_from_conversation")
    if role == "system" or hidden or kind in _OF_SYSTEM:
        return "system"
    if role == "tool" or kind in _OF_TOOLS or (role == "assistant" and message.text("recipient") not in ("", "all")):
        return "tools"
    if role not in ("user", "assistant"):
        raise malformed(message.child("author").at("role"), "user, assistant, system or tool")
    return None


def _is_noticed(content: Checked, kind: LeftOut) -> int:
    """Return 1 for a message with content, 0 for the empty ones that ChatGPT writes at the beginning of every chat."""
    parts = content.items("parts")
    return 0 if kind == "system" and not any(parts) and len(content.members) <= 2 else 1


def _texts(chat: ForeignChat, content: Checked) -> tuple[str, str]:
    """Return the text and the reasoning of a message's content."""
    match content.text("content_type"):
        case "text" | "multimodal_text":
            found = [_part(chat, content, index, part) for index, part in content.elements("parts")]
            return _CITATION.sub("", "\n".join(part for part in found if part)).strip(), ""
        case "code":
            language = content.text("language")
            return f"```{'' if language == 'unknown' else language}\n{content.text('text')}\n```", ""
        case "thoughts":
            thoughts = [thought.text("content") for thought in content.objects("thoughts")]
            return "", "\n\n".join(thought for thought in thoughts if thought)
        case "reasoning_recap":
            return "", ""
        case _:
            chat.left_out["other"] += 1
            return "", ""


def _part(chat: ForeignChat, content: Checked, index: int, part: Any) -> str:
    if isinstance(part, str):
        return part.replace("\0", "")
    place = f"{content.at('parts')}[{index}]"
    if not isinstance(part, dict):
        raise malformed(place, "a text or a JSON object")
    given = Checked(part, place)
    if given.text("content_type") == "audio_transcription":
        return given.text("text")
    chat.left_out["media"] += 1
    return ""


def _ending(message: Checked) -> tuple[str, str | None]:
    """Return status and finish reason of an answer."""
    if message.child("metadata").child("finish_details").text("type") == "max_tokens":
        return "incomplete", "length"
    if message.text("status") == "in_progress":
        return "incomplete", None
    return "complete", "stop"
