"""Response bodies of an import and of its preview."""

from collections.abc import Iterable
from typing import Literal

from typing_extensions import TypedDict

LeftOutName = Literal["tools", "media", "files", "system", "failed", "other"]
FileFormat = Literal["ebb", "chatgpt", "claude", "librechat", "llama-cpp", "open-webui"]


class UnreadableConversation(TypedDict):
    """A conversation of the file that cannot be imported.

    index: its position in the file.
    problem: the reason, with the place in the file.
    """

    index: int
    title: str | None
    problem: str


class Imported(TypedDict):
    """Result of an import.

    imported: ids of the conversations that were created.
    skipped: ids in the file of the conversations that had been imported before.
    unreadable: conversations of another application that cannot be read.
    """

    imported: list[str]
    skipped: list[str]
    unreadable: list[UnreadableConversation]


class LeftOut(TypedDict):
    """Messages, or parts of messages, that are not imported.

    kind: calls and results of tools, media, files without text, system messages, errors, or anything else.
    """

    kind: LeftOutName
    count: int


class PreviewedConversation(TypedDict):
    """A conversation of the file.

    index: its position in the file.
    num_messages: messages of all branches.
    num_branches: paths from a first question to a last message.
    is_here: whether it was imported before, so that another import skips it.
    """

    index: int
    title: str | None
    updated_at: float
    archived: bool
    num_messages: int
    num_branches: int
    left_out: list[LeftOut]
    is_here: bool


class ImportPreview(TypedDict):
    """The contents of a file that could be imported."""

    format: FileFormat
    conversations: list[PreviewedConversation]
    unreadable: list[UnreadableConversation]


def num_branches(ids: Iterable[tuple[str, str | None]]) -> int:
    """Count the leaves of a tree. ids: of each message and of the one above it."""
    given = list(ids)
    inner = {above for _, above in given}
    return sum(own not in inner for own, _ in given)
