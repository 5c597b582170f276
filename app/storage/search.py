"""Full-text search over titles and messages. The table `searchable` numbers them, and `search_text` indexes them.

The index uses row numbers of its own, because VACUUM may renumber the rows of other tables. The index also stores its
own copy of the text, so that a row can be removed even if a later version segments text into words differently.
Results come in index order, the newest first, so a frequent word costs no more than a rare one.

Each row contains its tenant as a word, so that a search reads only rows of its tenant. MATCH is the only FTS5 function
in use: all others take time quadratic in the number of matches, in a single uninterruptible call.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from sqlite3 import Row
from typing import Any, TypeVar

from app.domain.records import ConversationSource, Role
from app.storage.database import SEARCH_SECONDS, Database
from app.storage.readers import ReadTimeoutError
from app.storage.search_words import match_expression, tenant_word
from app.storage.snippets import Snippet, SnippetMaker
from engine.errors import ClientError

INDEXED_CHARACTERS = 262_144
"""Number of characters at the start of a message that are indexed (schema 12). The rest cannot be found."""
LOOKED_THROUGH = 524_288
"""Total characters of the messages on one result page that are scanned for snippets."""
LEAST_LOOKED_THROUGH = 4096
"""Minimum number of characters per message that are scanned for snippets."""

# CROSS JOIN forces SQLite to start with the index.
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
    """A message that matches a search.

    number: row number in the index. Older messages have smaller numbers.
    """

    number: int
    id: str
    role: Role
    created_at: float
    conversation_id: str
    title: str | None
    archived: bool
    snippet: Snippet

    def to_json(self) -> dict[str, Any]:
        """Return the match as a JSON object of the search response."""
        return {
            "message_id": self.id,
            "role": self.role,
            "created_at": self.created_at,
            "conversation": {"id": self.conversation_id, "title": self.title, "archived": self.archived},
            "snippet": self.snippet.to_json(),
        }


@dataclass(frozen=True, slots=True)
class FoundTitle:
    """A conversation whose title matches a search."""

    id: str
    title: str
    archived: bool
    updated_at: float
    snippet: Snippet

    def to_json(self) -> dict[str, Any]:
        """Return the match as a JSON object of the search response."""
        return {
            "id": self.id,
            "title": self.title,
            "archived": self.archived,
            "updated_at": self.updated_at,
            "snippet": self.snippet.to_json(),
        }


class SearchStore:
    """Search over the conversations of one tenant. Read-only: triggers maintain the index."""

    def __init__(self, database: Database, tenant: str, *, seconds: float = SEARCH_SECONDS) -> None:
        self._database = database
        self._tenant = tenant
        self._seconds = seconds

    async def messages(
        self, query: str, *, limit: int, before: int = BEYOND_ALL, source: ConversationSource = "chat"
    ) -> list[FoundMessage]:
        """Return the messages that contain every word of `query`, the newest first.

        Raises SearchTooSlowError.

        limit: maximum number of messages.
        before: index number of the last message on the previous page.
        source: source of the conversations to search.
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
        """Return the MATCH expression for rows of the tenant that contain all words of `query` in `column`.

        Returns None if `query` contains no word.
        """
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
