"""Files of conversations in any format that Ebb reads: its own exports, and those of other applications.

A conversation of another application that cannot be read is reported, and the others are imported. A file that Ebb
exported is imported whole or not at all.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from app.conversations.formats.checked import Checked, malformed, wrong
from app.conversations.formats.registry import READ_APART, ForeignName, Format, format_of
from app.conversations.formats.tree import LeftOut, imported_from
from app.conversations.importing import is_own, read_own
from app.conversations.json_reader import JsonReader
from app.domain.bounds import MAX_IMPORT_BYTES, MAX_IMPORTED
from app.schemas.imports import IMPORT_BOUNDS
from app.schemas.json_bounds import check_bounds
from app.storage.imports import Imported
from engine.errors import InvalidRequestError

FormatName = Literal["ebb", ForeignName]

MAX_SOURCE_LENGTH: Final = 96
MAX_UNREADABLE: Final = 10_000
"""Maximum number of conversations of a file that are reported as unreadable. A file with more of them is refused."""

UNKNOWN_FORMAT: Final = (
    "The file is no export that Ebb can read. Choose the JSON file that Ebb, ChatGPT, Claude, LibreChat or Open WebUI "
    "exported."
)


@dataclass(frozen=True, slots=True)
class ReadChat:
    """A conversation of the file.

    index: its position in the file.
    left_out: number of messages, or of their parts, that are not imported, by kind.
    """

    index: int
    imported: Imported
    left_out: Mapping[LeftOut, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A conversation of the file that cannot be imported.

    problem: the reason and the remedy in sentences, with the place in the file.
    """

    index: int
    title: str | None
    problem: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The conversations of a file."""

    format: FormatName
    chats: list[ReadChat]
    unreadable: list[Unreadable] = field(default_factory=list)


def read_any(body: bytes, on_value: Callable[[], None] = lambda: None) -> ReadFile:
    """Read a file in any format.

    on_value: called before each value of the file, and for each message. An error that it raises ends the reading.

    Raises InvalidRequestError, naming the place: the file is not JSON, has no known format or no readable conversation,
    is too big, or is Ebb's own and has a wrong value.
    """
    check_bounds(body, IMPORT_BOUNDS)
    reader = JsonReader(body, on_value)
    if reader.next_is("{") and is_own(reader.first_member()):
        return ReadFile("ebb", [ReadChat(index, each) for index, each in enumerate(read_own(reader))])
    return _Foreign(reader).read()


class _Foreign:
    """A file of another application, while it is read."""

    def __init__(self, reader: JsonReader) -> None:
        self._reader = reader
        self._now = time.time()
        self._format: Format | None = None
        self._chats = list[ReadChat]()
        self._unreadable = list[Unreadable]()
        self._errors = list[InvalidRequestError]()
        self._sources = set[str]()
        self._room = MAX_IMPORT_BYTES
        self._num_imported = 0

    def read(self) -> ReadFile:
        for index, place, value in self._values():
            try:
                self._add(index, place, value)
            except InvalidRequestError as error:
                self._reject(index, value, error)
        self._reader.end()
        if self._format is None:
            raise InvalidRequestError(UNKNOWN_FORMAT, code="unknown_format")
        if not self._chats:
            raise self._errors[0]
        return ReadFile(self._format.name, self._chats, self._unreadable)

    def _values(self) -> Iterator[tuple[int, str, Any]]:
        """Yield index, place and value of each conversation. A file may also be one conversation."""
        if self._reader.next_is("{"):
            yield 0, "chat", self._reader.value_apart(READ_APART)
            return
        if not self._reader.next_is("["):
            raise InvalidRequestError(UNKNOWN_FORMAT, code="unknown_format")
        for index in self._reader.elements():
            place = f"chats[{index}]"
            try:
                value = self._reader.value_apart(READ_APART)
            except InvalidRequestError as error:
                raise InvalidRequestError(f"{place}: {error.message}", param=place, code="invalid_json") from None
            yield index, place, value

    def _add(self, index: int, place: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise malformed(place, "a JSON object")
        found = format_of(value)
        if found is None:
            raise wrong(place, "This is no chat of ChatGPT, Claude, LibreChat or Open WebUI, so it is left out.")
        self._format = self._format or found
        if found is not self._format:
            raise wrong(place, "The chats before it are of another application. Import this one in a file of its own.")
        chat = found.read(Checked(value, place, self._reader.on_value), self._now)
        imported = imported_from(chat, place, self._room, self._reader.on_value)
        if not imported.messages:
            raise wrong(place, "The chat has no questions or answers, so it is left out.", code="conversation_empty")
        source = self._source(found, chat.source, imported)
        if source in self._sources:
            raise wrong(place, "The file has another chat with the same id, which is imported instead.")
        self._count(imported)
        self._sources.add(source)
        left_out = {kind: count for kind, count in chat.left_out.items() if count}
        self._chats.append(ReadChat(index, Imported(source, imported.conversation, imported.messages), left_out))

    def _source(self, found: Format, given: str, imported: Imported) -> str:
        """Return the name under which a second import recognizes the conversation."""
        first = imported.messages[0]
        return f"{found.name}:{(given or f'{first.created_at}:{first.content}')[:MAX_SOURCE_LENGTH]}"

    def _count(self, imported: Imported) -> None:
        self._room -= sum(len(each.content) + len(each.reasoning or "") for each in imported.messages)
        self._num_imported += 1 + len(imported.messages)
        if self._num_imported > MAX_IMPORTED:
            raise TooManyError(
                f"The file has more than {MAX_IMPORTED} chats and messages. Export them in several files.",
                code="body_too_complex",
            )

    def _reject(self, index: int, value: Any, error: InvalidRequestError) -> None:
        if isinstance(error, TooManyError) or len(self._unreadable) == MAX_UNREADABLE:
            raise error
        title = value.get("title", value.get("name")) if isinstance(value, dict) else None
        self._unreadable.append(Unreadable(index, title[:200] if isinstance(title, str) else None, error.message))
        self._errors.append(error)


class TooManyError(InvalidRequestError):
    """400: a file has more conversations and messages than an import takes."""
