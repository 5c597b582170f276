"""Export of conversations: all branches as JSON, for another import, or the shown path as Markdown or plain text."""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from app.domain.attached_files import AttachedFile, split_files
from app.domain.folder import FolderLevel
from app.domain.records import Conversation, Message
from app.domain.response_record import ResponseRecord
from app.domain.tool_use import tool_use_json

FORMAT = "ebb-conversations"
FORMAT_VERSION = 3
"""2: conversations of the API, tools and responses. 3: folders with system prompts. All versions can be imported."""

_CONVERSATION = (
    "title",
    "title_source",
    "system_prompt",
    "params",
    "pinned",
    "archived",
    "source",
    "metadata",
    "tags",
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
    "left_out",
    "summary",
    "rating",
    "rating_note",
    "merged",
    "model",
    "created_at",
    "completed_at",
)
_SPEAKERS = {"system": "System", "user": "You", "assistant": "Assistant"}


def file_beginning() -> str:
    """Return the part of the file before its first conversation."""
    head = json.dumps({"format": FORMAT, "format_version": FORMAT_VERSION, "exported_at": time.time()})
    return f'{head[:-1]}, "conversations": ['


def file_end(paths: Iterable[Sequence[FolderLevel]] = (), next_cursor: str | None = None) -> str:
    """Return the part of the file after its last conversation.

    paths: levels from the top down to the folders of the conversations in the file.
    next_cursor: start of the export's next part; None if this is the last.
    """
    beginnings = {tuple(path[:end]) for path in paths for end in range(1, len(path) + 1)}
    folders = [
        {"path": [each.name for each in path], "system_prompt": path[-1].system_prompt}
        for path in sorted(beginnings, key=lambda path: [each.name for each in path])
        if path[-1].system_prompt is not None
    ]
    return f'\n], "folders": {json.dumps(folders, ensure_ascii=False)}, "next_cursor": {json.dumps(next_cursor)}}}\n'


def conversation_beginning(conversation: Conversation, export_id: str, folder: Sequence[FolderLevel] = ()) -> str:
    """Return the beginning of one of the "conversations" of a JSON file, up to its first message.

    folder: levels from the top down to the folder that the conversation is in; empty for none.
    """
    fields = {name: getattr(conversation, name) for name in _CONVERSATION}
    names = [level.name for level in folder]
    head = json.dumps({"id": export_id, **fields, "folder": names}, ensure_ascii=False)
    return f'{head[:-1]}, "messages": ['


def messages_text(messages: Sequence[Message], responses: Mapping[str, ResponseRecord], export_id: str) -> str:
    """Serialize messages of a conversation, with commas between them.

    responses: records of the Responses API, by message id.

    Token ids are left out: with them, a file could show its reader one text and give the model another. The text is
    made message by message, so that other threads can run in between.
    """
    return ", ".join(
        json.dumps(_message(message, responses.get(message.id), export_id), ensure_ascii=False) for message in messages
    )


def conversation_end(conversation: Conversation, written_ids: Collection[str], last_id: str | None) -> str:
    """Return the end of a conversation whose messages were written.

    The head may have been deleted since the conversation was read. Responses follow each other without a head.
    """
    head_id = conversation.head_id
    if head_id not in written_ids:
        head_id = last_id if conversation.source != "response" else None
    return f'], "head_id": {json.dumps(head_id)}}}'


def _message(message: Message, response: ResponseRecord | None, export_id: str) -> dict[str, Any]:
    fields = {name: getattr(message, name) for name in _MESSAGE}
    if message.status == "in_progress":
        # The importing server has no run that could continue the answer.
        fields["status"] = "incomplete"
    if message.tool_use is not None:
        fields["tool_use"] = tool_use_json(message.tool_use)
    if response is not None:
        named = {"conversation_id": None if response.conversation_id is None else export_id}
        fields["response"] = asdict(response) | named
        # The name serves the search for a stored input alone, and follows from the messages. Caches are this server's.
        for name in ("input_name", "diagnostics"):
            del fields["response"][name]
    return fields


def markdown_beginning(conversation: Conversation) -> str:
    """Format the title and the system prompt as Markdown."""
    title = f"# {_one_line(conversation.title or 'Untitled')}"
    return title + (f"\n\n## System\n\n{conversation.system_prompt}".rstrip() if conversation.system_prompt else "")


def markdown_messages(messages: Sequence[Message]) -> str:
    """Format messages as Markdown, each after an empty line and under its speaker. Files are blocks of code."""
    return "".join("\n\n" + f"## {_SPEAKERS[each.role]}\n\n{_with_files(each, _fenced)}".rstrip() for each in messages)


def text_beginning(conversation: Conversation) -> str:
    """Format the title and the system prompt as text."""
    title = _one_line(conversation.title or "Untitled")
    return title + (f"\n\nSystem:\n{conversation.system_prompt}".rstrip() if conversation.system_prompt else "")


def text_messages(messages: Sequence[Message]) -> str:
    """Format messages as text, each after its speaker, and files after their names. All else stays as written."""
    return "".join("\n\n" + f"{_SPEAKERS[each.role]}:\n{_with_files(each, _named)}".rstrip() for each in messages)


def _with_files(message: Message, shown: Callable[[AttachedFile], str]) -> str:
    """Return the text of a message. shown: formats a file of a question."""
    if message.role != "user":
        return message.content
    typed, files = split_files(message.content)
    return "\n\n".join(filter(None, (typed, *map(shown, files))))


def _fenced(file: AttachedFile) -> str:
    """Format a file as code under its name, between marks that are longer than any in the file."""
    longest = max((len(run) for run in re.findall("`{3,}", file.text)), default=2)
    fence = "`" * (longest + 1)
    return f"**{_one_line(file.name)}**\n\n{fence}\n{file.text}\n{fence}"


def _named(file: AttachedFile) -> str:
    """Format a file as text after its name."""
    return f"{_one_line(file.name)}:\n{file.text}"


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
