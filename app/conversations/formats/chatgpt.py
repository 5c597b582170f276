"""Conversations that ChatGPT exports (`conversations.json`): a map of nodes, each with its parent and its message.

The format is not documented. This module follows files of 2023 to 2026.
"""

from typing import Any, Final

from app.conversations.formats.chatgpt_marks import readable
from app.conversations.formats.checked import Checked, LeftOut
from app.conversations.formats.message_parts import fenced, joined
from app.conversations.formats.tree import ForeignChat, Node
from app.conversations.json_reader import parsed

NAME: Final = "chatgpt"

_OF_TOOLS: Final = {"execution_output", "tether_quote", "tether_browsing_display", "system_error", "computer_output"}
_OF_SYSTEM: Final = {"user_editable_context", "model_editable_context", "app_pairing_content"}
_NEW_DOCUMENT: Final = "canmore.create_textdoc"
_CHANGED_DOCUMENT: Final = "canmore.update_textdoc"
_INCOMPLETE: Final = {"in_progress", "finished_partial_completion"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    return "mapping" in members


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation."""
    created_at = given.seconds("create_time") or now
    chat = ForeignChat(
        source=given.text("conversation_id") or given.text("id"),
        title=given.text("title"),
        created_at=created_at,
        updated_at=given.seconds("update_time") or created_at,
        pinned=given.flag("is_starred"),
        archived=given.flag("is_archived"),
        head=given.text("current_node") or None,
        left_out=given.left_out,
    )
    for name, node in given.child("mapping").named():
        chat.add(name, _node(chat, node))
        chat.note_followers(name, node, "children")
    return chat


def _node(chat: ForeignChat, given: Checked) -> Node:
    parent = given.text("parent") or None
    message = given.child("message")
    if not message.members:
        return Node(parent=parent)
    role, content = message.child("author").text("role"), message.child("content")
    document = _document(message, content) if role == "assistant" else ""
    if not document and (kind := _left_out(message, role, content)) is not None:
        chat.left_out[kind] += _is_noticed(content, kind)
        return Node(parent=parent)
    text, reasoning = (document, "") if document else _texts(chat, message, content)
    if not text and not reasoning:
        return Node(parent=parent)
    status, reason = _ending(message) if role == "assistant" else ("complete", None)
    return Node(
        parent=parent,
        speaker="assistant" if role == "assistant" else "user",
        text=text,
        reasoning=reasoning,
        created_at=message.seconds("create_time"),
        status="incomplete" if status == "incomplete" else "complete",
        finish_reason=reason,
    )


def _left_out(message: Checked, role: str, content: Checked) -> LeftOut | None:
    """Return the kind under which the whole message is left out; None if it is not."""
    kind = content.text("content_type")
    hidden = message.child("metadata").flag("is_visually_hidden_from_conversation")
    if role == "system" or hidden or kind in _OF_SYSTEM:
        return "system"
    if role == "tool" or kind in _OF_TOOLS or (role == "assistant" and message.text("recipient") not in ("", "all")):
        return "tools"
    return None if role in ("user", "assistant") else "other"


def _is_noticed(content: Checked, kind: LeftOut) -> int:
    """Return 1 for a message with content, 0 for the empty ones that ChatGPT writes at the beginning of every chat."""
    parts = content.items("parts")
    return 0 if kind == "system" and not any(parts) and len(content.members) <= 2 else 1


def _document(message: Checked, content: Checked) -> str:
    """Return the document that a call of the canvas writes as a whole; "" for any other message."""
    recipient = message.text("recipient")
    if recipient not in (_NEW_DOCUMENT, _CHANGED_DOCUMENT):
        return ""
    try:
        call = parsed(content.text("text") or "".join(part for part in content.items("parts") if isinstance(part, str)))
    except ValueError:
        return ""
    given = Checked(call if isinstance(call, dict) else {})
    if recipient == _CHANGED_DOCUMENT:
        changes = list(given.objects("updates"))
        whole = len(changes) == 1 and changes[0].text("pattern") == ".*" and changes[0].text("replacement")
        return fenced("", whole) if whole else ""
    text, kind, language = given.text("content"), *given.text("type").partition("/")[::2]
    title = f"**{name}**" if (name := given.text("name")) else ""
    return joined([title, fenced(language, text) if kind == "code" else text]) if text else ""


def _texts(chat: ForeignChat, message: Checked, content: Checked) -> tuple[str, str]:
    """Return the text and the reasoning of a message."""
    match content.text("content_type"):
        case "code":
            language = content.text("language")
            return fenced("" if language == "unknown" else language, content.text("text")), ""
        case "thoughts":
            thoughts = [each.text("content") or each.text("summary") for each in content.objects("thoughts")]
            return "", "\n\n".join(thought for thought in thoughts if thought)
        case "reasoning_recap":
            return "", ""
        case kind:
            attached = chat.num_attachments
            found = [_part(chat, part) for part in content.elements("parts")]
            text = "\n".join(part for part in found if part) or content.text("text")
            _count_files(chat, message)
            text = chat.text_or_mark(text, "", attached)
            chat.left_out["other"] += not text and kind not in ("text", "multimodal_text")
            return readable(text, _references(message)).strip(), ""


def _part(chat: ForeignChat, part: Any) -> str:
    if isinstance(part, str):
        return part.replace("\0", "")
    given = Checked(part if isinstance(part, dict) else {}, left_out=chat.left_out)
    if text := given.text("text"):
        return text
    chat.left_out["media" if given.text("content_type").endswith("_pointer") else "other"] += 1
    return ""


def _count_files(chat: ForeignChat, message: Checked) -> None:
    """Count the attached files. Pictures are also parts of the message."""
    for each in message.child("metadata").objects("attachments"):
        chat.left_out["files"] += not each.text("mime_type").startswith("image/")


def _references(message: Checked) -> dict[str, str]:
    """Return the Markdown that ChatGPT shows in place of the marks of a message."""
    given = message.child("metadata").objects("content_references")
    return {each.text("matched_text"): each.text("alt") for each in given}


def _ending(message: Checked) -> tuple[str, str | None]:
    """Return status and finish reason of an answer."""
    if message.child("metadata").child("finish_details").text("type") == "max_tokens":
        return "incomplete", "length"
    return ("incomplete", None) if message.text("status") in _INCOMPLETE else ("complete", "stop")
