"""A conversation that LibreChat exports as JSON: messages that name their parents, or that contain those below.

The messages are in `messages`, and in files of earlier versions in `messagesTree`.
"""

from collections.abc import Mapping
from typing import Any, Final

from app.conversations.formats.checked import Checked
from app.conversations.formats.message_parts import joined
from app.conversations.formats.tree import ForeignChat, Node
from app.domain.records import Rating

NAME: Final = "librechat"

_RATINGS: Final[Mapping[str, Rating]] = {"thumbsUp": "good", "thumbsDown": "bad"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    if "messagesTree" in members or ("conversationId" in members and "messages" in members):
        return True
    messages = members.get("messages")
    return isinstance(messages, list) and any(isinstance(each, dict) and "messageId" in each for each in messages[:2])


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation."""
    chat = ForeignChat(
        source=given.text("conversationId"),
        title=given.text("title"),
        created_at=now,
        updated_at=now,
        system_prompt=given.child("options").text("promptPrefix"),
        left_out=given.left_out,
    )
    _add_all(chat, given, "messagesTree" if given.has("messagesTree") else "messages")
    chat.created_at, chat.updated_at = min(chat.times, default=now), max(chat.times, default=now)
    return chat


def _add_all(chat: ForeignChat, given: Checked, name: str) -> None:
    """Add each message, without recursion: trees are as deep as they are long."""
    previous: str | None = None
    todo: list[tuple[Checked, str | None]] = []
    todo += [(each, None) for each in given.objects(name)][::-1]
    while todo:
        message, above = todo.pop()
        own = message.text("messageId") or f"#{len(chat.nodes)}"
        if above is None:
            own = previous = chat.add_after(previous, own, _node(chat, message, None))
        else:
            own = chat.add(own, _node(chat, message, above))
        todo += [(each, own) for each in message.objects("children")][::-1]


def _node(chat: ForeignChat, message: Checked, above: str | None) -> Node:
    parent, attached = above or message.text("parentMessageId") or None, chat.num_attachments
    by_user = _is_by_user(message)
    chat.left_out["files"] += len(message.items("files"))
    if message.members.get("error"):
        message.leave_out("error", "failed")
        return Node(parent=parent)
    text, reasoning = _texts(chat, message)
    text = chat.text_or_mark(text, reasoning, attached)
    if not text and not reasoning:
        return Node(parent=parent)
    cut = message.flag("unfinished") or message.text("finish_reason") == "length"
    rating, note = _rating(message.child("feedback") if not by_user else Checked({}))
    return Node(
        parent=parent,
        speaker="user" if by_user else "assistant",
        text=text,
        reasoning=reasoning,
        created_at=message.seconds("createdAt"),
        status="incomplete" if cut and not by_user else "complete",
        finish_reason=(
            None if by_user else "length" if message.text("finish_reason") == "length" else None if cut else "stop"
        ),
        rating=rating,
        rating_note=note,
    )


def _is_by_user(message: Checked) -> bool:
    by_user = message.flag("isCreatedByUser")
    return by_user if message.has("isCreatedByUser") else message.text("sender") == "User"


def _rating(given: Checked) -> tuple[Rating | None, str]:
    """Return the rating of an answer and its note."""
    rating = _RATINGS.get(given.text("rating"))
    return rating, given.text("text").strip() if rating is not None else ""


def _texts(chat: ForeignChat, message: Checked) -> tuple[str, str]:
    """Return the text and the reasoning of a message, which has one text or a list of parts."""
    if isinstance(message.members.get("content"), str):
        return message.text("content").strip(), ""
    texts, thoughts = list[str](), list[str]()
    for part in message.objects("content"):
        match part.text("type"):
            case "think":
                thoughts.append(_value(part, "think"))
            case "tool_call":
                chat.left_out["tools"] += 1
            case "error":
                chat.left_out["failed"] += 1
            case "image_file" | "image_url" | "video_url" | "input_audio":
                chat.left_out["media"] += 1
            case kind:
                texts.append(_value(part, "text"))
                chat.left_out["other"] += kind != "text" and not texts[-1]
    return joined(texts) or message.text("text").strip(), "\n\n".join(part for part in thoughts if part)


def _value(part: Checked, name: str) -> str:
    """Return a text that is written alone or as the `value` of an object."""
    return part.child(name).text("value") if isinstance(part.members.get(name), dict) else part.text(name)
