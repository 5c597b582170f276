"""Conversations that Claude exports (`conversations.json`): a list of messages, each with blocks of content.

The format is not documented. Newer files name the message before each message, so that branches are kept.
"""

from typing import Any, Final

from app.conversations.formats.checked import Checked, malformed, wrong
from app.conversations.formats.tree import ForeignChat, Node, Speaker

NAME: Final = "claude"

_SPEAKERS: Final[dict[str, Speaker]] = {"human": "user", "assistant": "assistant"}


def matches(members: dict[str, Any]) -> bool:
    """Return whether an object of the file is a conversation in this format."""
    return "chat_messages" in members


def read(given: Checked, now: float) -> ForeignChat:
    """Read a conversation. Raises InvalidRequestError."""
    created_at = given.seconds("created_at") or now
    chat = ForeignChat(
        source=given.text("uuid"),
        title=given.text("name"),
        created_at=created_at,
        updated_at=given.seconds("updated_at") or created_at,
        pinned=given.flag("is_starred"),
        head=given.text("current_leaf_message_uuid") or None,
    )
    messages = list(given.objects("chat_messages"))
    is_tree = len(messages) > 1 and all(each.text("parent_message_uuid") for each in messages)
    previous: str | None = None
    for index, message in enumerate(messages):
        name = message.text("uuid") or str(index)
        if name in chat.nodes:
            raise wrong(message.at("uuid"), "Two messages of the chat have the same id. Export the chat again.")
        # The parent of a first message is an id that no message has.
        chat.nodes[name] = _node(chat, message, message.text("parent_message_uuid") if is_tree else previous)
        previous = name
    chat.head = chat.head or previous
    return chat


def _node(chat: ForeignChat, message: Checked, parent: str | None) -> Node:
    speaker = _SPEAKERS.get(message.text("sender"))
    if speaker is None:
        raise malformed(message.at("sender"), "human or assistant")
    texts, thoughts = list[str](), list[str]()
    for block in message.objects("content"):
        match block.text("type"):
            case "text":
                texts.append(block.text("text"))
            case "thinking":
                thoughts.append(block.text("thinking"))
            case "tool_use" | "tool_result":
                chat.left_out["tools"] += 1
            case _:
                chat.left_out["other"] += 1
    if not message.has("content"):
        texts.append(message.text("text"))
    texts += _files(chat, message)
    text = "\n\n".join(part.strip() for part in texts if part.strip())
    reasoning = "\n\n".join(part for part in thoughts if part)
    if not text and not reasoning:
        return Node(parent)
    reason = "stop" if speaker == "assistant" else None
    return Node(parent, speaker, text, reasoning, message.seconds("created_at"), finish_reason=reason)


def _files(chat: ForeignChat, message: Checked) -> list[str]:
    """Return the files whose text the export contains, as the page attaches files to a message."""
    found, names = list[str](), set[str]()
    for attachment in message.objects("attachments"):
        name = attachment.text("file_name")
        names.add(name)
        if text := attachment.text("extracted_content"):
            safe = name.replace('"', "'").replace("\n", " ") or "file"
            found.append(f'<file name="{safe}">\n{text}\n</file>')
        else:
            chat.left_out["files"] += 1
    chat.left_out["files"] += sum(each.text("file_name") not in names for each in message.objects("files"))
    return found
