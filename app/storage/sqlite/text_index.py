"""The full-text index in SQLite: the table `search_words` of FTS5, whose rows have the numbers of `searchable`.

Ebb finds the words (`app.storage.search_words`), and FTS5 splits them at spaces only.

The index uses its own row numbers, because VACUUM may renumber the rows of other tables. The index also stores its
own copy of the words, so that a row can be removed even if a later version finds other words in a text.
Results come in index order, the newest first, so a frequent word costs no more than a rare one.

Each row contains its tenant as a word, so that a search reads only rows of its tenant. MATCH is the only FTS5 function
in use: all others take time quadratic in the number of matches, in a single uninterruptible call.

FTS5 only marks the words of removed rows as deleted until it merges the index segments that hold them. A purge merges
all segments into one, in steps between which other writers have their turn. A step ends when it has written a page, and
words of removed rows need none. If few rows remain, one step would read the whole index, so the index is then written
again.
"""

import json
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from typing_extensions import override

from app.domain.records import ConversationSource
from app.storage.connection import DatabaseConnection
from app.storage.search_words import phrases_of
from app.storage.sqlite.former_index import clear_former_index
from app.storage.text_index import Indexed, TextIndex

MERGE_SECONDS: Final = 0.02
"""Time after which a transaction merges no further page."""
REBUILT_ROWS: Final = 1000
REBUILT_CHARACTERS: Final = 1 << 20
"""Size of the texts up to which the index is written again instead of merged."""

GROWTH: Final = 8
"""Growth of the lists of numbers of a search."""
COLUMNS: Final[dict[Indexed, str]] = {"message": "content", "title": "title"}

NEWEST: Final = """
    SELECT rowid FROM search_words WHERE search_words MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC
"""
# CROSS JOIN forces SQLite to start with the numbers, or with the index.
AMONG: Final = """
    SELECT value FROM json_each(?) CROSS JOIN search_words WHERE search_words MATCH ? AND search_words.rowid = value
"""
KNOWN: Final = """
    SELECT value FROM json_each(?) WHERE EXISTS (
      SELECT 1 FROM search_words CROSS JOIN searchable ON number = search_words.rowid
      CROSS JOIN conversation ON conversation.id = searchable.conversation_id
      LEFT JOIN message ON message.id = message_id
      WHERE search_words MATCH ? || value || ? AND message.deleted_at IS NULL
        AND conversation.deleted_at IS NULL AND NOT temporary AND source = ? AND conversation.tenant = ?)
"""


class Fts5Index(TextIndex):
    """The index of SQLite."""

    @override
    def newest(
        self, connection: DatabaseConnection, query: str, *, tenant: str, kind: Indexed, numbers: range, first: int
    ) -> Iterator[list[int]]:
        expression, size = rows_expression(COLUMNS[kind], query, tenant), first
        # One statement for all lists: the beginning of a frequent word takes long to look up.
        rows = iter(connection.iterate(NEWEST, (expression, numbers.start, numbers.stop)))
        while found := [row["rowid"] for row in islice(rows, size)]:
            yield found
            size *= GROWTH

    @override
    def among(self, connection: DatabaseConnection, query: str, numbers: Sequence[int]) -> list[int]:
        found = connection.iterate(AMONG, (json.dumps(numbers), match_expression(query)))
        return [row["value"] for row in found]

    @override
    def known(
        self,
        connection: DatabaseConnection,
        words: Sequence[str],
        *,
        tenant: str,
        source: ConversationSource,
        unfinished: bool,
    ) -> set[str]:
        before, after = f'tenant : "{_tenant_word(tenant)}" AND {{title content}} : ("', '"*)' if unfinished else '")'
        return {row["value"] for row in connection.iterate(KNOWN, (json.dumps(words), before, after, source, tenant))}

    @override
    def reassign(self, connection: DatabaseConnection, conversation_id: str, tenant: str) -> None:
        connection.execute(
            "UPDATE search_words SET tenant = 't' || hex(?) "
            "WHERE rowid IN (SELECT number FROM searchable WHERE conversation_id = ?)",
            (tenant, conversation_id),
        )

    @override
    def index_some(self, connection: DatabaseConnection) -> bool:
        return clear_former_index(connection) or super().index_some(connection)

    @override
    def _index(self, connection: DatabaseConnection, batch: range) -> None:
        # FTS5 writes rows with ascending numbers into one segment. Each descending number would start a new segment.
        connection.execute(
            "INSERT INTO search_words(rowid, tenant, title, content) "
            "SELECT number, 't' || hex(tenant), iif(message_id IS NULL, segmented(title), NULL), "
            "iif(message_id IS NULL, NULL, segmented(message.content)) FROM searchable "
            "JOIN conversation ON conversation.id = searchable.conversation_id "
            "LEFT JOIN message ON message.id = message_id "
            "WHERE number >= ? AND number < ? AND number NOT IN (SELECT rowid FROM search_words WHERE rowid >= ? "
            "AND rowid < ?) ORDER BY number",
            (batch.start, batch.stop, batch.start, batch.stop),
        )

    @override
    def begin_purge(self, connection: DatabaseConnection) -> bool:
        """Begin to merge all index segments, and return whether there are words to drop."""
        if not connection.execute("DELETE FROM upkeep WHERE task IN ('purge', 'merge')"):
            return False
        # If the process ends before the merge does, the next one continues it.
        connection.execute("INSERT INTO upkeep(task) VALUES ('merge')")
        if _has_few_rows(connection):
            connection.execute("INSERT INTO search_words(search_words) VALUES ('rebuild')")
        else:
            _merge(connection, -1)
        return True

    @override
    def purge_some(self, connection: DatabaseConnection) -> bool:
        """Merge for about MERGE_SECONDS, and return whether there is more to merge.

        FTS5 changes a single row, its own, if there is nothing left to merge.
        """
        end = time.monotonic() + MERGE_SECONDS
        while True:
            before = _total_changes(connection)
            _merge(connection, 1)
            if _total_changes(connection) - before < 2:
                connection.execute("DELETE FROM upkeep WHERE task = 'merge'")
                connection.execute("INSERT OR IGNORE INTO upkeep(task) VALUES ('erase')")
                return False
            if time.monotonic() >= end:
                return True


def rows_expression(column: str, query: str, tenant: str) -> str:
    """Return the MATCH expression for rows of the tenant that contain all words of `query` in `column`."""
    return f'tenant : "{_tenant_word(tenant)}" AND {column} : ({match_expression(query)})'


def match_expression(query: str) -> str:
    """Return the FTS5 expression for `query`: all phrases must occur, the last word may be unfinished.

    No word contains a quote.
    """
    return " AND ".join(f'"{" ".join(each.words)}"{"*" if each.is_unfinished else ""}' for each in phrases_of(query))


def _tenant_word(tenant: str) -> str:
    """Return the word that stands for `tenant` in the index. The triggers of the schema make the same word."""
    return "t" + tenant.encode().hex()


def _has_few_rows(connection: DatabaseConnection) -> bool:
    """Return whether the index of all remaining rows can be written at once."""
    row = connection.fetch_one(
        "SELECT count(*) AS n, coalesce(sum(length(title) + length(content)), 0) AS characters FROM "
        "(SELECT coalesce(title, '') AS title, coalesce(content, '') AS content FROM search_words LIMIT ?)",
        (REBUILT_ROWS + 1,),
    )
    assert row is not None
    return bool(row["n"] <= REBUILT_ROWS and row["characters"] <= REBUILT_CHARACTERS)


def _merge(connection: DatabaseConnection, pages: int) -> None:
    connection.execute("INSERT INTO search_words(search_words, rank) VALUES ('merge', ?)", (pages,))


def _total_changes(connection: DatabaseConnection) -> int:
    [[changes]] = connection.fetch_all("SELECT total_changes()")
    return int(changes)
