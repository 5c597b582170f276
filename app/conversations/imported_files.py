"""Files of conversations in any format that Ebb reads: its own exports, and those of other applications.

A conversation of another application that cannot be read is reported, and the others are imported. A file that Ebb
exported is imported whole or not at all.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final, Literal

from app.conversations.formats.checked import Checked, LeftOut, wrong
from app.conversations.formats.llama_cpp import from_lines
from app.conversations.formats.registry import READ_APART, ForeignName, Format, format_of
from app.conversations.formats.tree import imported_from
from app.conversations.importing import checked_text, is_own, read_own
from app.conversations.json_reader import UNREADABLE, JsonReader
from app.domain.bounds import MAX_IMPORT_BYTES, MAX_IMPORTED
from app.storage.imports import Imported
from engine.api.errors import InvalidRequestError

FormatName = Literal["ebb", ForeignName]

MAX_SOURCE_LENGTH: Final = 96
MAX_UNREADABLE: Final = 10_000
"""Maximum number of conversations of a file that are reported as unreadable. A file with more of them is refused."""

_APPLICATIONS: Final = "ChatGPT, Claude, LibreChat, llama.cpp or Open WebUI"

UNKNOWN_FORMAT: Final = (
    f"The file is no export that Ebb can read. Choose the JSON file that Ebb, {_APPLICATIONS} exported."
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

    Raise InvalidRequestError, naming the place: the file is not JSON, has no known format or no readable conversation,
    is too big, or is Ebb's own and has a wrong value.
    """
    reader = JsonReader(checked_text(body), on_value)
    if _is_own(reader):
        return ReadFile("ebb", [ReadChat(index, each) for index, each in enumerate(read_own(reader))])
    return _Foreign(reader).read()


def _is_own(reader: JsonReader) -> bool:
    try:
        return reader.next_is("{") and is_own(reader.first_member())
    except InvalidRequestError:
        return False


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
        is_json = self._reader.next_is("[") or self._reader.next_is("{")
        for index, value in enumerate(chain(self._list(), from_lines(self._lines()))):
            try:
                self._add(index, f"chats[{index}]", value)
            except InvalidRequestError as error:
                self._reject(index, value, error)
        if self._format is None:
            unknown = InvalidRequestError(UNKNOWN_FORMAT, code="unknown_format")
            raise next((error for error in self._errors if is_json and error.code == "invalid_json"), unknown)
        if not self._chats:
            raise self._errors[0]
        return ReadFile(self._format.name, self._chats, self._unreadable)

    def _list(self) -> Iterator[Any]:
        """Yield each element of the list that a file may begin with, and UNREADABLE for its rest if that is damaged."""
        if self._reader.next_is("["):
            try:
                for _ in self._reader.elements():
                    yield self._reader.value_apart(READ_APART)
            except InvalidRequestError:
                yield UNREADABLE

    def _lines(self) -> Iterator[Any]:
        """Yield the object of a file, or that of each line. The rest of a line is UNREADABLE."""
        if self._reader.next_is("{") and not self._reader.has_lines():
            yield self._reader.value_apart(READ_APART)
        for line in self._reader.lines():
            value = line.value_apart(READ_APART)
            yield value
            if value is not UNREADABLE and not line.is_at_end():
                yield UNREADABLE

    def _add(self, index: int, place: str, value: Any) -> None:
        found = format_of(value) if isinstance(value, dict) else None
        if value is UNREADABLE or (found is None and self._reader.is_cut):
            raise wrong(place, "The file is damaged here. Export or download it again.", code="invalid_json")
        if found is None:
            raise wrong(place, f"This is no chat of {_APPLICATIONS}, so it is left out.")
        self._format = self._format or found
        if found is not self._format:
            raise wrong(place, "The chats before it are of another application. Import this one in a file of its own.")
        left_out = Counter[LeftOut]({"other": int(self._reader.is_cut)})
        chat = found.read(Checked(value, self._reader.on_value, left_out), self._now)
        imported = imported_from(chat, place, self._room, self._reader.on_value)
        if not imported.messages:
            raise _empty(place, left_out)
        source = self._source(found, chat.source, imported)
        if source in self._sources:
            raise wrong(place, "The file has another chat with the same id, which is imported instead.")
        self._count(imported)
        self._sources.add(source)
        counts = {kind: count for kind, count in left_out.items() if count}
        self._chats.append(ReadChat(index, Imported(source, imported.conversation, imported.messages), counts))

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
        self._unreadable.append(Unreadable(index, _title(value), error.message))
        self._errors.append(error)


def _title(value: Any) -> str | None:
    """Return the title of a conversation in any format."""
    if not isinstance(value, dict):
        return None
    head = conv if isinstance(conv := value.get("conv"), dict) else value
    title = head.get("title", head.get("name"))
    return title[:200] if isinstance(title, str) else None


def _empty(place: str, left_out: Mapping[LeftOut, int]) -> InvalidRequestError:
    """Build the error for a chat without messages to import."""
    if left_out["other"]:
        return wrong(
            place, "The chat is damaged: none of its questions and answers can be read. Export the chat again."
        )
    return wrong(place, "The chat has no questions or answers, so it is left out.", code="conversation_empty")


class TooManyError(InvalidRequestError):
    """400: a file has more conversations and messages than an import takes."""
