"""The titles and the messages of the full-text index by their numbers: which ones a search may show, and their content.

The conditions are tested by the number, in the written order of the tables, so that the cost depends on the numbers
alone and neither on the statistics of a database nor on the rows of other tenants.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.records import ConversationSource
from app.storage.connection import DatabaseConnection, Row
from app.storage.search_filter import SearchFilter
from app.storage.text_index import Indexed

_OF: Final[dict[Indexed, str]] = {
    "message": "searchable CROSS JOIN message CROSS JOIN conversation",
    "title": "searchable CROSS JOIN conversation",
}
_JOINED: Final[dict[Indexed, str]] = {
    "message": "message.id = searchable.message_id AND conversation.id = message.conversation_id "
    "AND message.deleted_at IS NULL",
    "title": "coalesce(searchable.message_id, '') = '' AND conversation.id = searchable.conversation_id",
}
# CASE and coalesce lead to no index: each row is looked up by its number or its id, also without statistics.
_SHOWN: Final = """
    SELECT {columns} FROM {items} CROSS JOIN {tables}
    WHERE searchable.number = CAST(value AS bigint) AND {joined}
      AND CASE WHEN conversation.deleted_at IS NULL
        THEN NOT temporary AND source = ? AND conversation.tenant = ?{within} ELSE FALSE END
"""
_OF_CHATS: Final[dict[Indexed, str]] = {
    "message": "conversation CROSS JOIN message CROSS JOIN searchable",
    "title": "conversation CROSS JOIN searchable",
}
_JOINED_TO_CHATS: Final[dict[Indexed, str]] = {
    "message": "message.conversation_id = conversation.id AND searchable.message_id = message.id",
    "title": "searchable.conversation_id = conversation.id AND searchable.message_id IS NULL",
}
_IN_CHATS: Final = """
    SELECT searchable.number FROM {tables}
    WHERE conversation.tenant = ? AND source = ? AND conversation.deleted_at IS NULL AND NOT temporary{within}
      AND {joined} LIMIT ?
"""


@dataclass(frozen=True, slots=True)
class SearchRows:
    """Titles or messages of a tenant that meet the conditions of a search, apart from its words."""

    connection: DatabaseConnection
    kind: Indexed
    tenant: str
    source: ConversationSource
    within: SearchFilter

    def shown(self, numbers: Collection[int]) -> list[int]:
        """Return those of `numbers` whose rows meet all conditions, the greatest first."""
        return sorted((row["number"] for row in self._rows("searchable.number", (), numbers)), reverse=True)

    def contents(self, columns: str, parameters: Sequence[object], numbers: Sequence[int]) -> list[Row]:
        """Return columns of the rows with these numbers, in this order. Rows that were deleted since then are left out.

        parameters: those of `columns`, which include the number.
        """
        rows = {row["number"]: row for row in self._rows(columns, parameters, numbers)}
        return [rows[number] for number in numbers if number in rows]

    def in_chats(self, before: int, most: int) -> list[int] | None:
        """Return the numbers below `before` of all rows in the chats that meet the conditions, the greatest first.

        The conditions on the rows themselves are not tested. Returns None if the chats have more than `most` rows,
        with other numbers included.
        """
        within, values = self.within.of_chats(self.connection.dialect)
        sql = _IN_CHATS.format(tables=_OF_CHATS[self.kind], joined=_JOINED_TO_CHATS[self.kind], within=within)
        rows = self.connection.fetch_all(sql, (self.tenant, self.source, *values, most + 1))
        if len(rows) > most:
            return None
        return sorted((row["number"] for row in rows if row["number"] < before), reverse=True)

    def _rows(self, columns: str, parameters: Sequence[object], numbers: Collection[int]) -> list[Row]:
        if not numbers:
            return []
        dialect = self.connection.dialect
        conditions = self.within.of_messages if self.kind == "message" else self.within.of_titles
        within, values = conditions(dialect)
        sql = _SHOWN.format(
            columns=columns, items=dialect.json_items, tables=_OF[self.kind], joined=_JOINED[self.kind], within=within
        )
        given = (*parameters, json.dumps(list(numbers)), self.source, self.tenant, *values)
        return self.connection.fetch_all(sql, given)
