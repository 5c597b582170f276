"""Finding of a text in one conversation: in the questions, the answers and their reasoning on a path.

An answer is looked through as it is written, and without the marks of Markdown within a line, as a person reads it.
Texts are compared as the search compares words (`app.storage.search_words`), but as they are written: a text is found
within words and with its punctuation. Each white space counts as one space.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.storage.connection import DatabaseConnection
from app.storage.database import SEARCH_SECONDS, Database
from app.storage.errors import ReadTimeoutError
from app.storage.messages import PATH
from app.storage.search import SearchTooSlowError
from app.storage.search_words import PIECE_CHARACTERS, composed

MOST_FOUND: Final = 10_000
"""Messages of a result. Their occurrences beyond these are not counted."""

_SPACE: Final = re.compile(r"[^\S ]")
_IGNORED: Final = re.compile(
    "[\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u093c\u094d\u09bc\u09cd\u0e3a\u0e48-\u0e4b\u0ec8-\u0ecb\u1ab0-\u1ace"
    "\u1dc0-\u1dff\u200d\u2060\u20d0-\u20f0\ufe00-\ufe0f\ufe20-\ufe2f\ufeff]+"
)
"""Accents, tones and points of the widely used scripts, and characters that are invisible within a word."""
_LINK: Final = re.compile(r"\[([^\[\]]{1,256})\]\([^()\s]{1,1024}\)")
_MARKS: Final = re.compile(r"[*`]+|__|~~")

_TEXTS: Final = f"""
    {PATH} SELECT message.id, role, content, reasoning FROM path JOIN message USING (id)
    WHERE role <> 'system' ORDER BY depth DESC
"""


@dataclass(frozen=True, slots=True)
class FoundIn:
    """A message with a text.

    count: times that it has the text.
    """

    id: str
    count: int


class FindingStore:
    """Finding of texts in the conversations of one tenant. Reads only."""

    def __init__(self, database: Database, tenant: str, *, seconds: float = SEARCH_SECONDS) -> None:
        self._database = database
        self._tenant = tenant
        self._seconds = seconds

    async def on_path(self, message_id: str | None, text: str) -> list[FoundIn]:
        """Return the messages of the path to `message_id` that have `text`, the oldest first.

        Raise SearchTooSlowError.
        """
        sought = folded(text)

        def find(connection: DatabaseConnection) -> list[FoundIn]:
            found = list[FoundIn]()
            for row in connection.iterate(_TEXTS, (message_id, self._tenant)):
                text = folded(row["content"])
                count = folded(row["reasoning"] or "").count(sought) + text.count(sought)
                if row["role"] == "assistant":
                    count += max(0, _unmarked(text).count(sought) - text.count(sought))
                if count > 0:
                    found.append(FoundIn(row["id"], count))
                if len(found) == MOST_FOUND:
                    break
            return found

        if not sought.strip():
            return []
        try:
            return await self._database.search(find, tenant=self._tenant, seconds=self._seconds)
        except ReadTimeoutError:
            raise SearchTooSlowError(
                f"The search took longer than {self._seconds:g} s and was stopped. Use the search of all chats",
                param="q",
            ) from None


def folded(text: str) -> str:
    """Return a text as it is compared. The page folds what it shows in the same way, to mark what was found.

    The work is done in pieces, between which the interpreter lets other threads run.
    """
    return "".join(map(_folded_piece, _pieces(text)))


def _unmarked(text: str) -> str:
    """Return a text without emphasis, marks of code and the addresses of links."""
    return "".join(_MARKS.sub("", _LINK.sub(r"\1", piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    return (text[at : at + PIECE_CHARACTERS] for at in range(0, len(text), PIECE_CHARACTERS))


def _folded_piece(piece: str) -> str:
    if piece.isascii():
        return _SPACE.sub(" ", piece.lower())
    compatible = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", composed(piece)).casefold())
    return unicodedata.normalize("NFC", _SPACE.sub(" ", _IGNORED.sub("", compatible)))
