"""Full-text search over titles and messages: `searchable` numbers them, `search_text` indexes them.

The index keeps a text of its own and is tied to numbers of its own: SQLite may number the rows of other tables anew
(VACUUM), and what was indexed once can be taken out again even if a later version cuts texts into words differently.
The newest come first: that is the order of the index, so a word that occurs everywhere costs no more than a rare one.
"""

from dataclasses import dataclass
from sqlite3 import Row
from typing import Any

from app.records import Role
from app.storage.database import Database
from app.storage.search_words import MATCH_BEGINS, MATCH_ENDS, Snippet, match_expression

SNIPPET_WORDS = 24

# CROSS JOIN keeps SQLite from beginning anywhere but at the index.
FIND_MESSAGES = f"""
    SELECT number, message.id, role, message.created_at, message.conversation_id, conversation.title, archived,
      snippet(search_text, 1, '{MATCH_BEGINS}', '{MATCH_ENDS}', '…', {SNIPPET_WORDS}) AS snippet
    FROM search_text CROSS JOIN searchable ON number = search_text.rowid
    CROSS JOIN message ON message.id = message_id
    CROSS JOIN conversation ON conversation.id = message.conversation_id
    WHERE search_text MATCH ? AND search_text.rowid < ? AND message.deleted_at IS NULL
      AND conversation.deleted_at IS NULL AND source = 'chat' AND tenant = ?
    ORDER BY search_text.rowid DESC LIMIT ?
"""
FIND_TITLES = f"""
    SELECT conversation.id, conversation.title, archived, updated_at,
      snippet(search_text, 0, '{MATCH_BEGINS}', '{MATCH_ENDS}', '…', {SNIPPET_WORDS}) AS snippet
    FROM search_text CROSS JOIN searchable ON number = search_text.rowid
    CROSS JOIN conversation ON conversation.id = conversation_id
    WHERE search_text MATCH ? AND conversation.deleted_at IS NULL AND source = 'chat' AND tenant = ?
    ORDER BY search_text.rowid DESC LIMIT ?
"""
BEYOND_ALL = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """number: its place; what was found later has a smaller one."""

    number: int
    id: str
    role: Role
    created_at: float
    conversation_id: str
    title: str | None
    archived: bool
    snippet: Snippet

    def to_json(self) -> dict[str, Any]:
        """What clients see."""
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
        """What clients see."""
        return {
            "id": self.id,
            "title": self.title,
            "archived": self.archived,
            "updated_at": self.updated_at,
            "snippet": self.snippet.to_json(),
        }


class SearchStore:
    """Of a tenant. Reads only: triggers keep the index."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def messages(self, query: str, *, limit: int, before: int = BEYOND_ALL) -> list[FoundMessage]:
        """Those that contain every word of `query`, the newest first. before: the number of the last one seen."""
        expression = match_expression(query)
        if expression is None:
            return []
        rows = await self._database.read(FIND_MESSAGES, (f"content : ({expression})", before, self._tenant, limit))
        return [FoundMessage(**_values(row)) for row in rows]

    async def titles(self, query: str, *, limit: int) -> list[FoundTitle]:
        """Conversations whose titles contain every word of `query`, the newest titles first."""
        expression = match_expression(query)
        if expression is None:
            return []
        rows = await self._database.read(FIND_TITLES, (f"title : ({expression})", self._tenant, limit))
        return [FoundTitle(**_values(row)) for row in rows]


def _values(row: Row) -> dict[str, Any]:
    return {**dict(row), "archived": bool(row["archived"]), "snippet": Snippet.parse(row["snippet"])}
