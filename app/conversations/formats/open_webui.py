"""Conversations that Open WebUI exports: a list of chats, each with a map of messages that name their parents."""

import html
import re
from typing import Any, Final

from app.conversations.formats.checked import Checked, malformed
from app.conversations.formats.tree import ForeignChat, Node
from app.domain.records import Rating

NAME: Final = "open-webui"

_DETAILS: Final = '<details type="'
_END: Final = "</details>"
_SUMMARY = re.compile(r"<summary>[^<]{0,500}</summary>")
_QUOTE = re.compile(r"^> ?", re.MULTILINE)


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    return "history" in members or (isinstance(members.get("chat"), dict) and "history" in members["chat"])


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation. Raises InvalidRequestError."""
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
    )
    for name, message in history.child("messages").named():
        chat.nodes[name] = _node(chat, message)
    return chat


def _node(chat: ForeignChat, message: Checked) -> Node:
    parent, role = message.text("parentId") or None, message.text("role")
    if role == "system":
        chat.left_out["system"] += 1
        return Node(parent)
    if role not in ("user", "assistant"):
        raise malformed(message.at("role"), "user, assistant or system")
    _count_files(chat, message)
    text, reasoning = _texts(chat, message)
    if not text and not reasoning:
        chat.left_out["failed"] += message.has("error")
        return Node(parent)
    stopped = role == "assistant" and message.members.get("done") is False
    return Node(
        parent,
        "assistant" if role == "assistant" else "user",
        text,
        reasoning,
        message.seconds("timestamp"),
        "incomplete" if stopped else "complete",
        "stop" if role == "assistant" and not stopped else None,
        *_rating(message.child("annotation") if role == "assistant" else Checked({}, message.place)),
    )


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


def _texts(chat: ForeignChat, message: Checked) -> tuple[str, str]:
    """Return the text and the reasoning of a message, from its `output` if it has one, or else from its text."""
    if message.text("role") == "user" or not message.items("output"):
        return _without_details(chat, message.text("content"))
    texts, thoughts = list[str](), list[str]()
    for item in message.objects("output"):
        written = [part.text("text") for part in item.objects("content")]
        match item.text("type"):
            case "message":
                texts += written
            case "reasoning":
                thoughts += written
            case "function_call":
                chat.left_out["tools"] += 1
            case "function_call_output":
                pass
            case _:
                chat.left_out["other"] += 1
    text = "\n\n".join(part.strip() for part in texts if part.strip())
    return text, "\n\n".join(part for part in thoughts if part)


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
