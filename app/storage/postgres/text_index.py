"""The full-text index in PostgreSQL: the table `search_words`, whose rows have the numbers of `searchable`.

Ebb finds the words (`app.storage.search_words`), because PostgreSQL's own parser treats addresses, numbers and hyphens
in its own ways, and knows no words of Chinese. Triggers note titles and messages that were written, and the transaction
that wrote them indexes them before it is committed. Rows go with their messages, so there is nothing to purge.

A row has its words in their order, between spaces, so that a phrase is a part of that text, however long a message is.
The GIN index has every word with the mark of its place (tenant, and title or message) before it, so that a look-up of
a word reads rows of its tenant alone. That index cannot return the newest rows first. A search therefore looks through
some of the newest rows of its place, then through more, which suffices for frequent words. Only then it asks the index.
"""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Final

from typing_extensions import override

from app.domain.records import ConversationSource
from app.storage.connection import DatabaseConnection, Row
from app.storage.rows import insert_rows
from app.storage.search_words import INDEXED_CHARACTERS, Phrase, phrases_of, segmented
from app.storage.text_index import Indexed, TextIndex

NEWEST: Final = 4
"""Rows to look through at first for each number of the first list."""
GROWTH: Final = 8
"""Growth of the rows to look through before the index is asked, and of the lists of numbers."""
FEW: Final = 20_000
"""Numbers of which all rows are looked through, because asking the index about every number would take longer."""

SEARCHING: Final = (
    "SET enable_seqscan = off",
    "SET enable_hashjoin = off",
    "SET enable_mergejoin = off",
    "SET enable_sort = off",
    "SET join_collapse_limit = 1",
    "SET jit = off",
)
"""For the connections of searches. They look up the rows that match one by one, in the written order, until there are
enough. PostgreSQL cannot know how many match, and without statistics of new tables chooses plans that take seconds."""

FOUND_INDEX: Final = (
    "CREATE INDEX IF NOT EXISTS search_words_found ON search_words USING gin(placed_words(place, words)) "
    "WITH (fastupdate = off)"
)
"""The GIN index of the schema."""

# Pairs are in the order of one index alone. For a place and numbers, PostgreSQL reads the rows of all places.
LOOKED_THROUGH: Final = """
    SELECT min(number) AS least, count(*) AS rows, string_agg(CASE WHEN {phrases} THEN CAST(number AS text) END, ',')
      AS numbers
    FROM (
      SELECT number, words FROM search_words WHERE (place, number) >= (?, ?) AND (place, number) < (?, ?)
      ORDER BY place DESC, number DESC LIMIT ?) AS newest
"""
# The addition keeps PostgreSQL from a walk along the numbers.
IN_INDEX: Final = """
    SELECT string_agg(CAST(number AS text), ',') AS numbers FROM search_words
    WHERE placed_words(place, words) @@ CAST(? AS tsquery) AND number + 0 >= ?
      AND number + 0 < ?{phrases}
"""
AMONG: Final = """
    SELECT number FROM jsonb_array_elements(CAST(? AS jsonb)) AS item(value) CROSS JOIN search_words
    WHERE number = CAST(value AS bigint) AND {phrases}
"""
CONVERSATION: Final = """
    CROSS JOIN LATERAL (SELECT * FROM conversation WHERE id = searchable.conversation_id OFFSET 0) AS conversation
"""
# OFFSET keeps PostgreSQL from another order of the look-ups, and from other indexes.
KNOWN: Final = f"""
    SELECT asked.word FROM jsonb_to_recordset(CAST(? AS jsonb)) AS asked(word text, query text)
    CROSS JOIN LATERAL (
      SELECT 1 FROM (
        SELECT number FROM search_words WHERE placed_words(place, words) @@ CAST(asked.query AS tsquery) OFFSET 0
      ) AS matching
      JOIN searchable ON searchable.number = matching.number {CONVERSATION}
      LEFT JOIN message ON message.id = message_id
      WHERE message.deleted_at IS NULL AND conversation.deleted_at IS NULL AND NOT temporary
        AND source = ? AND conversation.tenant = ? LIMIT 1) AS known
"""
TEXTS: Final = """
    SELECT number, conversation.tenant, conversation.title, message_id IS NULL AS is_title,
      substr(message.content, 1, ?) AS content
    FROM searchable JOIN conversation ON conversation.id = searchable.conversation_id
    LEFT JOIN message ON message.id = message_id
"""


class GinIndex(TextIndex):
    """The index of PostgreSQL."""

    @override
    def newest(
        self, connection: DatabaseConnection, query: str, *, tenant: str, kind: Indexed, numbers: range, first: int
    ) -> Iterator[list[int]]:
        wanted, place, stop = WantedWords(query), PLACES[kind](tenant), numbers.stop
        looked_through = LOOKED_THROUGH.format(phrases=wanted.contained())
        rest = len(numbers) if len(numbers) <= FEW else GROWTH * NEWEST * first
        for rows in (NEWEST * first, rest):
            given = (*wanted.parts, place, numbers.start, place, stop, rows)
            [row] = connection.fetch_all(looked_through, given)
            if found := _numbers(row):
                yield found
            if row["rows"] < rows:
                return
            stop = row["least"]
        phrases = wanted.contained(longer=True)
        [row] = connection.fetch_all(
            IN_INDEX.format(phrases=f" AND {phrases}" if phrases else ""),
            (wanted.tsquery(place), numbers.start, stop, *wanted.longer),
        )
        found, size = _numbers(row), GROWTH * first
        while found:
            yield found[:size]
            found, size = found[size:], GROWTH * size

    @override
    def among(self, connection: DatabaseConnection, query: str, numbers: Sequence[int]) -> list[int]:
        wanted = WantedWords(query)
        rows = connection.fetch_all(AMONG.format(phrases=wanted.contained()), (json.dumps(numbers), *wanted.parts))
        return [row["number"] for row in rows]

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
        places = place_of_messages(tenant), place_of_titles(tenant)
        asked = [
            {"word": word, "query": " | ".join(_lexeme(place, word, is_unfinished=unfinished) for place in places)}
            for word in words
        ]
        return {row["word"] for row in connection.iterate(KNOWN, (json.dumps(asked), source, tenant))}

    @override
    def reassign(self, connection: DatabaseConnection, conversation_id: str, tenant: str) -> None:
        connection.execute(
            "UPDATE search_words SET place = CASE WHEN message_id IS NULL THEN ? ELSE ? END FROM searchable "
            "WHERE searchable.number = search_words.number AND conversation_id = ?",
            (place_of_titles(tenant), place_of_messages(tenant), conversation_id),
        )

    @override
    def _index(self, connection: DatabaseConnection, batch: range) -> None:
        rows = connection.fetch_all(
            TEXTS + "WHERE number >= ? AND number < ? AND number NOT IN (SELECT number FROM search_words)",
            (INDEXED_CHARACTERS, batch.start, batch.stop),
        )
        _insert(connection, rows)


class WantedWords:
    """The phrases of a query as conditions on rows.

    parts: the part of a row's words that contains each phrase.
    longer: the same for phrases of several words, which the index does not find by itself.
    """

    def __init__(self, query: str) -> None:
        self._phrases = phrases_of(query)
        self.parts = [_part(each) for each in self._phrases]
        self.longer = [_part(each) for each in self._phrases if len(each.words) > 1]

    def contained(self, *, longer: bool = False) -> str:
        """Return the condition that a row contains all parts, which follow as parameters, or the longer ones."""
        return " AND ".join("strpos(words, ?) > 0" for _ in (self.longer if longer else self.parts))

    def tsquery(self, place: str) -> str:
        """Return the tsquery for rows of a place that have all words."""
        return " & ".join(_terms(place, each) for each in self._phrases)


def _numbers(row: Row) -> list[int]:
    """Return the numbers that the database put into one text, the greatest first."""
    return sorted((int(number) for number in (row["numbers"] or "").split(",") if number), reverse=True)


def index_written(connection: DatabaseConnection) -> None:
    """Index the titles and messages that the transaction has written."""
    [[noted]] = connection.fetch_all("SELECT current_setting('ebb.written', TRUE)")
    if not noted:
        return
    numbers = sorted({int(number) for number in noted.split(",")})
    _insert(connection, connection.fetch_all(f"{TEXTS} WHERE number = ANY(?)", (INDEXED_CHARACTERS, numbers)))


def _insert(connection: DatabaseConnection, rows: Iterable[Row]) -> None:
    insert_rows(
        connection,
        "search_words(number, place, words)",
        map(_indexed, rows),
        "ON CONFLICT(number) DO UPDATE SET place = excluded.place, words = excluded.words",
    )


def _indexed(row: Row) -> tuple[int, str, str]:
    if row["is_title"]:
        return row["number"], place_of_titles(row["tenant"]), f" {segmented(row['title'] or '')} "
    return row["number"], place_of_messages(row["tenant"]), f" {segmented(row['content'])} "


def place_of_messages(tenant: str) -> str:
    """Return the mark of the tenant's messages in the index."""
    return f"{_mark(tenant)}m"


def place_of_titles(tenant: str) -> str:
    """Return the mark of the tenant's titles in the index."""
    return f"{_mark(tenant)}t"


PLACES: Final[dict[Indexed, Callable[[str], str]]] = {"message": place_of_messages, "title": place_of_titles}


def _mark(tenant: str) -> str:
    """Return four characters that stand for `tenant` in the index. Few tenants share them, whose rows are left out."""
    return urlsafe_b64encode(sha256(tenant.encode()).digest()[:3]).decode()


def _part(phrase: Phrase) -> str:
    """Return the part of the words of a row that contains a phrase."""
    return f" {' '.join(phrase.words)}{'' if phrase.is_unfinished else ' '}"


def _terms(place: str, phrase: Phrase) -> str:
    """Return the tsquery for rows of a place with all words of a phrase."""
    *others, last = phrase.words
    terms = [*(_lexeme(place, word) for word in others), _lexeme(place, last, is_unfinished=phrase.is_unfinished)]
    return " & ".join(terms)


def _lexeme(place: str, word: str, *, is_unfinished: bool = False) -> str:
    # No word contains a quote or a backslash.
    return f"'{place}{word}'{':*' if is_unfinished else ''}"
