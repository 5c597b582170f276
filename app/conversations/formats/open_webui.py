"""Conversations that Open WebUI exports: a list of chats, each with a map of messages that name their parents."""

import html
import re
from typing import Any, Final

from app.conversations.formats.checked import Checked
from app.conversations.formats.message_parts import joined
from app.conversations.formats.tree import ForeignChat, Node
from app.domain.records import Rating

NAME: Final = "open-webui"

_DETAILS: Final = '<details type="'
_END: Final = "</details>"
_SUMMARY = re.compile(r"<summary>[^<]{0,500}</summary>")
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    inner = members.get("chat")
    return "history" in members or (isinstance(inner, dict) and ("history" in inner or "messages" in inner))


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation."""
    # A chat of an early version stands alone.
    inner = given.child("chat") if given.has("chat") else given
    created_at = given.seconds("created_at") or inner.seconds("timestamp") or now
    history = inner.child("history")
    chat = ForeignChat(
        source=given.text("id"),
        title=given.text("title") or inner.text("title"),
        created_at=created_at,
        updated_at=given.seconds("updated_at") or created_at,
        system_prompt=inner.text("system") or inner.child("params").text("system"),
        pinned=given.flag("pinned"),
        archived=given.flag("archived"),
        tags=[tag for tag in given.child("meta").items("tags") if isinstance(tag, str)],
        head=history.text("currentId") or None,
        left_out=given.left_out,
    )
    for name, message in history.child("messages").named():
        chat.add(name, _node(chat, message))
        chat.note_followers(name, message, "childrenIds")
    if not chat.nodes:
        _add_shown(chat, inner)
    return chat


def _add_shown(chat: ForeignChat, inner: Checked) -> None:
    """Add the messages that were last shown, which the file has a second time as a list."""
    previous: str | None = None
    for index, message in enumerate(inner.objects("messages")):
        previous = chat.add_after(previous, message.text("id") or str(index), _node(chat, message))


def _node(chat: ForeignChat, message: Checked) -> Node:
    parent, attached = message.text("parentId") or None, chat.num_attachments
    role = message.text("role")
    if role not in ("user", "assistant"):
        _count(chat, message, role)
        return Node(parent=parent)
    _count_files(chat, message)
    text, reasoning = _texts(chat, message, role)
    text = chat.text_or_mark(text, reasoning, attached)
    if not text and not reasoning:
        chat.left_out["failed"] += message.has("error")
        return Node(parent=parent)
    stopped = role == "assistant" and message.members.get("done") is False
    rating, note = _rating(message.child("annotation") if role == "assistant" else Checked({}))
    return Node(
        parent=parent,
        speaker="assistant" if role == "assistant" else "user",
        text=text,
        reasoning=reasoning,
        created_at=message.seconds("timestamp"),
        status="incomplete" if stopped else "complete",
        finish_reason="stop" if role == "assistant" and not stopped else None,
        rating=rating,
        rating_note=note,
    )


def _count(chat: ForeignChat, message: Checked, role: str) -> None:
    """Count a message by neither the person nor the model. One that is no object has been counted."""
    if role in ("system", "tool"):
        chat.left_out["system" if role == "system" else "tools"] += 1
    elif message.members:
        chat.left_out["failed" if message.has("error") else "other"] += 1


def _rating(given: Checked) -> tuple[Rating | None, str]:
    """Return the rating of an answer, 1 or -1, and its note."""
    match given.members.get("rating"):
        case 1 | "1":
            rating: Rating = "good"
        case -1 | "-1":
            rating = "bad"
        case _:
            return None, ""
    return rating, given.text("comment").strip()


def _count_files(chat: ForeignChat, message: Checked) -> None:
    for each in message.objects("files"):
        chat.left_out["media" if each.text("type") == "image" else "files"] += 1


def _texts(chat: ForeignChat, message: Checked, role: str) -> tuple[str, str]:
    """Return the text and the reasoning of a message, from its `output` if it has one, or else from its text."""
    if role == "user" or not message.items("output"):
        return _without_details(chat, joined(_parts(chat, message, "content")))
    texts, thoughts = list[str](), list[str]()
    for item in message.objects("output"):
        match item.text("type"):
            case "message":
                texts += _parts(chat, item, "content")
            case "reasoning":
                thoughts += _parts(chat, item, "content") or _parts(chat, item, "summary")
            case "function_call":
                chat.left_out["tools"] += 1
            case "function_call_output":
                pass
            case _:
                chat.left_out["other"] += 1
    return joined(texts), "\n\n".join(part for part in thoughts if part)


def _parts(chat: ForeignChat, given: Checked, name: str) -> list[str]:
    """Return the texts of a member that is a text or a list of parts."""
    if not isinstance(given.members.get(name), list):
        return [text] if (text := given.text(name)) else []
    found = list[str]()
    for part in given.objects(name):
        if text := part.text("text"):
            found.append(text)
        elif part.has("type"):
            chat.left_out["media" if "image" in part.text("type") else "other"] += not part.text("type").endswith(
                "text"
            )
    return found


def _without_details(chat: ForeignChat, content: str) -> tuple[str, str]:
    """Take the reasoning and the calls of tools, which are written as folded parts, out of a text."""
    texts, thoughts, at = list[str](), list[str](), 0
    while (begin := content.find(_DETAILS, at)) >= 0 and (end := content.find(_END, begin)) >= 0:
        texts.append(content[at:begin])
        kind = content[begin + len(_DETAILS) : begin + len(_DETAILS) + 20].partition('"')[0]
        if kind == "reasoning":
            inner = content[content.find(">", begin) + 1 : end]
            thoughts.append(_QUOTE.sub("", html.unescape(_SUMMARY.sub("", inner, count=1)).strip()))
        else:
            chat.left_out["tools"] += 1
        at = end + len(_END)
    texts.append(content[at:])
    return "".join(texts).strip(), "\n\n".join(part for part in thoughts if part)
