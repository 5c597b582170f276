"""Full-text search over titles and messages: `searchable` numbers them, `search_text` indexes them.

The index keeps a text of its own and is tied to numbers of its own: SQLite may number the rows of other tables again
(VACUUM), and an indexed text can be removed even if a later version cuts texts into words differently. The newest come
first: that is the order of the index, so a word that occurs everywhere costs no more than a rare one.

The tenant is a word of each row, so that a search reads no more than its tenant wrote. No function of FTS5 but MATCH is
called: all others take time that grows with the square of the findings, in one piece.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from sqlite3 import Row
from typing import Any, TypeVar

from app.records import ConversationSource, Role
from app.storage.database import SEARCH_SECONDS, Database
from app.storage.readers import ReadTimeoutError
from app.storage.search_words import match_expression, tenant_word
from app.storage.snippets import Snippet, SnippetMaker
from engine.errors import ClientError

INDEXED_CHARACTERS = 262_144
"""Characters of a message that are indexed, from its beginning (schema 12). The rest is not found."""
LOOKED_THROUGH = 524_288
"""Characters of all found messages of one page in which snippets are looked for."""
LEAST_LOOKED_THROUGH = 4096

# CROSS JOIN keeps SQLite from beginning anywhere but at the index.
FIND_MESSAGES = """
    SELECT number, message.id, role, message.created_at, message.conversation_id, conversation.title, archived,
      substr(message.content, 1, ?) AS beginning, length(message.content) AS characters
    FROM search_text CROSS JOIN searchable ON number = search_text.rowid
    CROSS JOIN message ON message.id = message_id
    CROSS JOIN conversation ON conversation.id = message.conversation_id
    WHERE search_text MATCH ? AND search_text.rowid < ? AND message.deleted_at IS NULL
      AND conversation.deleted_at IS NULL AND source = ? AND conversation.tenant = ?
    ORDER BY search_text.rowid DESC LIMIT ?
"""
FIND_TITLES = """
    SELECT conversation.id, conversation.title, archived, updated_at
    FROM search_text CROSS JOIN searchable ON number = search_text.rowid
    CROSS JOIN conversation ON conversation.id = conversation_id
    WHERE search_text MATCH ? AND conversation.deleted_at IS NULL AND source = ? AND conversation.tenant = ?
    ORDER BY search_text.rowid DESC LIMIT ?
"""
BEYOND_ALL = (1 << 63) - 1

Found = TypeVar("Found")


class SearchTooSlowError(ClientError):
    """422: a search was stopped at its time limit."""

    status = 422
    code = "search_too_slow"


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """A message. number: its place in the index; older messages have smaller ones."""

    number: int
    id: str
    role: Role
    created_at: float
    conversation_id: str
    title: str | None
    archived: bool
    snippet: Snippet

    def to_json(self) -> dict[str, Any]:
        """Return what clients see."""
        return {
            "message_id": self.id,
            "role": self.role,
            "created_at": self.created_at,
            "conversation": {"id": self.conversation_id, "title": self.title, "archived": self.archived},
            "snippet": self.snippet.to_json(),
        }


@dataclass(frozen=True, slots=True)
class FoundTitle:
    """A conversation."""

    id: str
    title: str
    archived: bool
    updated_at: float
    snippet: Snippet

    def to_json(self) -> dict[str, Any]:
        """Return what clients see."""
        return {
            "id": self.id,
            "title": self.title,
            "archived": self.archived,
            "updated_at": self.updated_at,
            "snippet": self.snippet.to_json(),
        }


class SearchStore:
    """The search of a tenant. Reads only: triggers keep the index."""

    def __init__(self, database: Database, tenant: str, *, seconds: float = SEARCH_SECONDS) -> None:
        self._database = database
        self._tenant = tenant
        self._seconds = seconds

    async def messages(
        self, query: str, *, limit: int, before: int = BEYOND_ALL, source: ConversationSource = "chat"
    ) -> list[FoundMessage]:
        """Return the messages that contain every word of `query`, the newest first.

        before: the number of the last one seen. source: of their conversations. Raises SearchTooSlowError.
        """
        expression = self.expression("content", query)
        if expression is None:
            return []
        looked_through = min(INDEXED_CHARACTERS, max(LEAST_LOOKED_THROUGH, LOOKED_THROUGH // limit))
        parameters = (looked_through, expression, before, source, self._tenant, limit)

        def find(connection: sqlite3.Connection) -> list[FoundMessage]:
            maker = SnippetMaker(query)
            return [_found_message(row, maker) for row in connection.execute(FIND_MESSAGES, parameters)]

        return await self._in_time(find)

    async def titles(self, query: str, *, limit: int, source: ConversationSource = "chat") -> list[FoundTitle]:
        """Return the conversations whose titles contain every word of `query`, the newest titles first.

        Raises SearchTooSlowError.
        """
        expression = self.expression("title", query)
        if expression is None:
            return []

        def find(connection: sqlite3.Connection) -> list[FoundTitle]:
            maker = SnippetMaker(query)
            rows = connection.execute(FIND_TITLES, (expression, source, self._tenant, limit))
            return [FoundTitle(**_values(row), snippet=maker.snippet(row["title"])) for row in rows]

        return await self._in_time(find)

    def expression(self, column: str, query: str) -> str | None:
        """Return what MATCH takes: the tenant's rows with all words of `query` in `column`. None: no word in it."""
        words = match_expression(query)
        return None if words is None else f'tenant : "{tenant_word(self._tenant)}" AND {column} : ({words})'

    async def _in_time(self, find: Callable[[sqlite3.Connection], list[Found]]) -> list[Found]:
        try:
            return await self._database.search(find, tenant=self._tenant, seconds=self._seconds)
        except ReadTimeoutError:
            raise SearchTooSlowError(
                f"The search took longer than {self._seconds:g} s and was stopped. Search for rarer or longer words",
                param="q",
            ) from None


def _found_message(row: Row, maker: SnippetMaker) -> FoundMessage:
    values = _values(row)
    snippet = maker.snippet(values.pop("beginning"), whole_length=values.pop("characters"))
    return FoundMessage(**values, snippet=snippet)


def _values(row: Row) -> dict[str, Any]:
    return {**dict(row), "archived": bool(row["archived"])}
