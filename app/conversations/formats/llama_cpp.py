"""Conversations that the page of llama.cpp exports: a header, and messages that name the one before them.

Earlier versions write JSON: an object with `conv` and `messages`, or a list of them. Later ones write a line with the
header and a line for each message.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from app.conversations.formats.checked import Checked
from app.conversations.formats.message_parts import attached_file, joined
from app.conversations.formats.tree import ForeignChat, Node

NAME: Final = "llama-cpp"

_FILES: Final = {"TEXT", "textFile", "context", "PDF", "pdfFile", "MCP_PROMPT", "MCP_RESOURCE"}
_MEDIA: Final = {"IMAGE", "imageFile", "AUDIO", "audioFile", "VIDEO", "videoFile"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    if "conv" in members and "messages" in members:
        return True
    messages = members.get("messages")
    return isinstance(messages, list) and any(isinstance(each, dict) and "convId" in each for each in messages[:2])


def from_lines(records: Iterable[Any]) -> Iterator[Any]:
    """Join headers and messages of lines to conversations. Other records are separate conversations.

    A message whose conversation has no header begins one. A damaged line belongs to the conversation around it.
    """
    chats = dict[str, dict[str, Any]]()
    name = ""
    for record in records:
        if isinstance(record, dict) and (record.get("type") == "session" or "harness" in record):
            yield from chats.values()
            name = _text(record, "id")
            chats = {name: {"conv": record, "messages": []}}
        elif isinstance(record, dict) and "message" in record:
            # A header without an id has the messages that follow it.
            of = _text(record["message"], "convId") if name or not chats else name
            chat = chats.setdefault(of or name, {"conv": {"id": of}, "messages": []})
            chat["messages"].append(record["message"])
            name = name or of
        elif chats:
            next(reversed(chats.values()))["messages"].append(record)
        else:
            yield record
    yield from chats.values()


def _text(value: Any, name: str) -> str:
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation."""
    head = given.child("conv")
    chat = ForeignChat(
        source=head.text("id"),
        title=head.text("name"),
        created_at=now,
        updated_at=now,
        pinned=head.flag("pinned"),
        head=head.text("currNode") or None,
        left_out=given.left_out,
    )
    previous: str | None = None
    for index, message in enumerate(given.objects("messages")):
        previous = chat.add_after(previous, message.text("id") or str(index), _node(chat, message))
        chat.note_followers(previous, message, "children")
    chat.created_at = min(chat.times, default=now)
    chat.updated_at = head.seconds("lastModified") or max(chat.times, default=now)
    return chat


def _node(chat: ForeignChat, message: Checked) -> Node:
    parent, role, attached = message.text("parent") or None, message.text("role"), chat.num_attachments
    if role not in ("user", "assistant"):
        _keep_system_prompt(chat, message, role)
        return Node(parent=parent)
    text = joined([message.text("content"), *_files(chat, message)])
    reasoning = (message.text("reasoningContent") or message.text("thinking")).strip()
    _count_calls(chat, message)
    text = chat.text_or_mark(text, reasoning, attached)
    if not text and not reasoning:
        return Node(parent=parent)
    return Node(
        parent=parent,
        speaker="assistant" if role == "assistant" else "user",
        text=text,
        reasoning=reasoning,
        created_at=message.seconds("timestamp"),
        finish_reason="stop" if role == "assistant" else None,
    )


def _keep_system_prompt(chat: ForeignChat, message: Checked, role: str) -> None:
    """Keep the first system message as the conversation's prompt, and count other messages. The root has no text."""
    text = message.text("content").strip()
    if role == "system" and not chat.system_prompt:
        chat.system_prompt = text
    elif role == "system":
        chat.left_out["system"] += bool(text)
    else:
        chat.left_out["tools" if role == "tool" else "other"] += 1


def _count_calls(chat: ForeignChat, message: Checked) -> None:
    """Count the calls of tools, which are a list, or in earlier versions a text with one."""
    given = message.members.get("toolCalls")
    chat.left_out["tools"] += len(given) if isinstance(given, list) else bool(given)


def _files(chat: ForeignChat, message: Checked) -> list[str]:
    """Return the files whose text the export contains."""
    found = list[str]()
    for each in message.objects("extra"):
        kind, text = each.text("type"), each.text("content")
        if kind in _MEDIA:
            chat.left_out["media"] += 1
        elif kind in _FILES and text and not each.flag("processedAsImages"):
            found.append(attached_file(each.text("name"), text))
        else:
            chat.left_out["files"] += 1
    return found
