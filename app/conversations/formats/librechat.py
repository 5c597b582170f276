"""A conversation that LibreChat exports as JSON: messages that name their parents, or that contain those below.

The messages are in `messages`, and in files of earlier versions in `messagesTree`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from app.conversations.formats.checked import Checked, wrong
from app.conversations.formats.tree import ForeignChat, Node
from app.domain.records import Rating

NAME: Final = "librechat"

_RATINGS: Final[Mapping[str, Rating]] = {"thumbsUp": "good", "thumbsDown": "bad"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    return "conversationId" in members and ("messages" in members or "messagesTree" in members)


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation. Raises InvalidRequestError."""
    name = "messagesTree" if given.has("messagesTree") else "messages"
    chat = ForeignChat(
        source=given.text("conversationId"),
        title=given.text("title"),
        created_at=now,
        updated_at=now,
        system_prompt=given.child("options").text("promptPrefix"),
    )
    for message, above in _flat(given, name):
        own = message.text("messageId")
        if not own or own in chat.nodes:
            raise wrong(message.at("messageId"), "A message of the chat has no id of its own. Export the chat again.")
        chat.nodes[own] = _node(chat, message, above)
    times = [node.created_at for node in chat.nodes.values() if node.created_at is not None]
    chat.created_at, chat.updated_at = min(times, default=now), max(times, default=now)
    return chat


def _flat(given: Checked, name: str) -> Iterator[tuple[Checked, str | None]]:
    """Yield each message and the id of the one before it, without recursion: trees are as deep as they are long."""
    todo: list[tuple[Checked, str | None]] = []
    todo += [(each, None) for each in given.objects(name)][::-1]
    while todo:
        message, above = todo.pop()
        yield message, above or message.text("parentMessageId") or None
        if message.has("children"):
            own = message.text("messageId")
            todo += [(each, own) for each in message.objects("children")][::-1]


def _node(chat: ForeignChat, message: Checked, parent: str | None) -> Node:
    by_user = message.flag("isCreatedByUser")
    chat.left_out["files"] += len(message.items("files"))
    if message.flag("error"):
        chat.left_out["failed"] += 1
        return Node(parent)
    text, reasoning = _texts(chat, message)
    if not text and not reasoning:
        return Node(parent)
    cut = message.flag("unfinished") or message.text("finish_reason") == "length"
    return Node(
        parent,
        "user" if by_user else "assistant",
        text,
        reasoning,
        message.seconds("createdAt"),
        "incomplete" if cut and not by_user else "complete",
        None if by_user else "length" if message.text("finish_reason") == "length" else None if cut else "stop",
        *_rating(message.child("feedback") if not by_user else Checked({}, message.place)),
    )


def _rating(given: Checked) -> tuple[Rating | None, str]:
    """Return the rating of an answer and its note."""
    rating = _RATINGS.get(given.text("rating"))
    return rating, given.text("text").strip() if rating is not None else ""


def _texts(chat: ForeignChat, message: Checked) -> tuple[str, str]:
    """Return the text and the reasoning of a message, which has one text or a list of parts."""
    if not message.has("content"):
        return message.text("text").strip(), ""
    texts, thoughts = list[str](), list[str]()
    for part in message.objects("content"):
        match part.text("type"):
            case "text":
                texts.append(_value(part, "text"))
            case "think":
                thoughts.append(_value(part, "think"))
            case "tool_call":
                chat.left_out["tools"] += 1
            case "error":
                chat.left_out["failed"] += 1
            case "image_file" | "image_url" | "video_url" | "input_audio":
                chat.left_out["media"] += 1
            case _:
                chat.left_out["other"] += 1
    text = "\n\n".join(part.strip() for part in texts if part.strip())
    return text or message.text("text").strip(), "\n\n".join(part for part in thoughts if part)


def _value(part: Checked, name: str) -> str:
    """Return a text that is written alone or as the `value` of an object."""
    return part.child(name).text("value") if isinstance(part.members.get(name), dict) else part.text(name)
