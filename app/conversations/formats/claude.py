"""Conversations that Claude exports (`conversations.json`): a list of messages, each with blocks of content.

The format is not documented. Newer files name the message before each message, so that branches are kept. In older
ones each message follows the one before it.
"""

from typing import Any, Final

from app.conversations.formats.checked import Checked
from app.conversations.formats.message_parts import attached_file, joined
from app.conversations.formats.tree import ForeignChat, Node, Speaker

NAME: Final = "claude"

_SPEAKERS: Final[dict[str, Speaker]] = {"human": "user", "assistant": "assistant"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    return "chat_messages" in members


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation."""
    created_at = given.seconds("created_at") or now
    chat = ForeignChat(
        source=given.text("uuid"),
        title=given.text("name"),
        created_at=created_at,
        updated_at=given.seconds("updated_at") or created_at,
        pinned=given.flag("is_starred"),
        head=given.text("current_leaf_message_uuid") or None,
        left_out=given.left_out,
    )
    previous: str | None = None
    for index, message in enumerate(given.objects("chat_messages")):
        previous = chat.add_after(previous, message.text("uuid") or str(index), _node(chat, message))
    chat.head = chat.head or previous
    return chat


def _node(chat: ForeignChat, message: Checked) -> Node:
    parent, attached = message.text("parent_message_uuid") or None, chat.num_attachments
    speaker = _SPEAKERS.get(message.text("sender"))
    if speaker is None:
        chat.left_out["other"] += 1
        return Node(parent=parent)
    texts, thoughts = _texts(chat, message)
    texts += _files(chat, message)
    text, reasoning = joined(texts), "\n\n".join(part for part in thoughts if part)
    text = chat.text_or_mark(text, reasoning, attached)
    if not text and not reasoning:
        return Node(parent=parent)
    reason = "stop" if speaker == "assistant" else None
    return Node(
        parent=parent,
        speaker=speaker,
        text=text,
        reasoning=reasoning,
        created_at=message.seconds("created_at"),
        finish_reason=reason,
    )


def _texts(chat: ForeignChat, message: Checked) -> tuple[list[str], list[str]]:
    """Return the texts and the thoughts of a message, from its blocks or, if it has none, from its text."""
    blocks = list(message.objects("content"))
    texts, thoughts = list[str](), list[str]()
    for block in blocks:
        match block.text("type"):
            case "thinking":
                thoughts.append(block.text("thinking"))
            case "tool_use" | "tool_result":
                chat.left_out["tools"] += 1
            case kind:
                texts.append(block.text("text"))
                chat.left_out["other"] += kind != "text" and not texts[-1]
    return texts if blocks else [message.text("text")], thoughts


def _files(chat: ForeignChat, message: Checked) -> list[str]:
    """Return the files whose text the export contains."""
    found, names = list[str](), set[str]()
    for attachment in message.objects("attachments"):
        name = attachment.text("file_name")
        names.add(name)
        if text := attachment.text("extracted_content"):
            found.append(attached_file(name, text))
        else:
            chat.left_out["files"] += 1
    chat.left_out["files"] += sum(each.text("file_name") not in names for each in message.objects("files"))
    return found
