"""The full-text index in PostgreSQL: the table `search_text`, whose rows have the numbers of `searchable`.

Ebb finds the words, so that both databases find the same: PostgreSQL's own parser treats addresses, numbers and hyphens
in its own ways, and knows no words of Chinese. Triggers queue titles and messages that were written. The transaction
that wrote them indexes its queue before it is committed. The tenant is a word of each row, so that a search reads only
rows of its tenant. Rows go with their messages, so there is nothing to purge.

Words after the first 16,383 of a message have no position. A search still finds them, but not as a phrase: runs of
several Chinese, Japanese or Korean characters are found within these words only.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from app.domain.records import ConversationSource
from app.storage.connection import Connection, Row
from app.storage.search_filter import SearchFilter
from app.storage.search_words import SEPARATOR, may_be_unfinished, query_pieces, segmented

INDEXED_CHARACTERS: Final = 262_144
MAX_POSITION: Final = 16_383
MAX_WORD_BYTES: Final = 2_046
MAX_VECTOR_CHARACTERS: Final = 250_000
"""Length of the words of a message. A tsvector has at most a megabyte."""

FIND_MESSAGES: Final = """
    SELECT searchable.number, message.id, role, message.created_at, message.conversation_id, conversation.title,
      archived, substr(message.content, 1, ?) AS beginning, length(message.content) AS characters
    FROM search_text JOIN searchable ON searchable.number = search_text.number
    JOIN message ON message.id = message_id
    JOIN conversation ON conversation.id = message.conversation_id
    WHERE search_text.content @@ CAST(? AS tsquery) AND searchable.number < ? AND message.deleted_at IS NULL
      AND conversation.deleted_at IS NULL AND NOT temporary AND source = ? AND conversation.tenant = ?{within}
    ORDER BY searchable.number DESC LIMIT ?
"""
FIND_TITLES: Final = """
    SELECT conversation.id, conversation.title, archived, updated_at
    FROM search_text JOIN searchable ON searchable.number = search_text.number
    JOIN conversation ON conversation.id = conversation_id
    WHERE search_text.title @@ CAST(? AS tsquery) AND conversation.deleted_at IS NULL AND NOT temporary
      AND source = ? AND conversation.tenant = ?{within}
    ORDER BY searchable.number DESC LIMIT ?
"""
KNOWN: Final = """
    SELECT asked.word FROM jsonb_to_recordset(CAST(? AS jsonb)) AS asked(word text, query text) WHERE EXISTS (
      SELECT 1 FROM search_text JOIN searchable ON searchable.number = search_text.number
      JOIN conversation ON conversation.id = searchable.conversation_id
      LEFT JOIN message ON message.id = message_id
      WHERE (search_text.content @@ CAST(asked.query AS tsquery) OR search_text.title @@ CAST(asked.query AS tsquery))
        AND message.deleted_at IS NULL AND conversation.deleted_at IS NULL AND NOT temporary
        AND source = ? AND conversation.tenant = ?)
"""
QUEUED: Final = """
    SELECT searchable.number, conversation.tenant, conversation.title,
      CASE WHEN message_id IS NOT NULL THEN substr(message.content, 1, ?) END AS content
    FROM search_queue JOIN searchable ON searchable.number = search_queue.number
    JOIN conversation ON conversation.id = searchable.conversation_id LEFT JOIN message ON message.id = message_id
"""

_WORD = re.compile(r"[^\W_]+")


class TsvectorIndex:
    """Implementation of `app.storage.text_index.TextIndex`."""

    def messages(
        self,
        connection: Connection,
        query: str,
        *,
        tenant: str,
        source: ConversationSource,
        within: SearchFilter,
        before: int,
        limit: int,
        beginning: int,
    ) -> Iterator[Row]:
        """Yield the tenant's messages that contain every word of `query`, the newest first."""
        condition, values = within.of_messages(connection.dialect)
        place = (beginning, tsquery(query, tenant), before, source, tenant, *values, limit)
        return connection.iterate(FIND_MESSAGES.format(within=condition), place)

    def titles(
        self,
        connection: Connection,
        query: str,
        *,
        tenant: str,
        source: ConversationSource,
        within: SearchFilter,
        limit: int,
    ) -> Iterator[Row]:
        """Yield the tenant's conversations whose titles contain every word of `query`, the newest titles first."""
        condition, values = within.of_titles(connection.dialect)
        place = (tsquery(query, tenant), source, tenant, *values, limit)
        return connection.iterate(FIND_TITLES.format(within=condition), place)

    def known(
        self, connection: Connection, words: Sequence[str], *, tenant: str, source: ConversationSource, unfinished: bool
    ) -> set[str]:
        """Return those of `words` that the tenant's messages or titles contain."""
        end = "" if unfinished else " "
        # The index takes some words for the same, such as those with и and й. The first of them counts.
        queries = {tsquery(word + end, tenant): word for word in reversed(words)}
        asked = json.dumps([{"word": word, "query": query} for query, word in queries.items()])
        return {row["word"] for row in connection.iterate(KNOWN, (asked, source, tenant))}

    def reassign(self, connection: Connection, conversation_id: str, tenant: str) -> None:  # noqa: ARG002
        """Queue the title and the messages of a conversation, whose row names the new tenant already."""
        connection.execute(
            "INSERT INTO search_queue SELECT number FROM searchable WHERE conversation_id = ? ON CONFLICT DO NOTHING",
            (conversation_id,),
        )

    def index_some(self, connection: Connection) -> bool:  # noqa: ARG002
        """Return that nothing is left to index: each transaction indexes what it wrote."""
        return False

    def begin_purge(self, connection: Connection) -> bool:  # noqa: ARG002
        """Return that there are no words of removed messages."""
        return False

    def purge_some(self, connection: Connection) -> bool:  # noqa: ARG002
        """Return that there are no words of removed messages."""
        return False


def index_queue(connection: Connection) -> None:
    """Index the titles and messages that the transaction has written."""
    rows = connection.fetch_all(QUEUED, (INDEXED_CHARACTERS,))
    if not rows:
        return
    values = list[tuple[int, str | None, str | None]]()
    for row in rows:
        text, tenant = row["content"], row["tenant"]
        title = tsvector(row["title"] or "", tenant) if text is None else None
        values.append((row["number"], title, tsvector(text, tenant) if text is not None else None))
    connection.execute_many(
        "INSERT INTO search_text(number, title, content) VALUES (?, CAST(? AS tsvector), CAST(? AS tsvector)) "
        "ON CONFLICT(number) DO UPDATE SET title = excluded.title, content = excluded.content",
        values,
    )
    connection.execute("DELETE FROM search_queue")


def tsvector(text: str, tenant: str) -> str:
    """Return the words of a text, with their positions, as a literal of the type tsvector."""
    places = dict[str, list[int]]()
    length = 0
    for position, word in enumerate(words_of(text), 1):
        if word not in places:
            length += len(word.encode()) + 8
            if length > MAX_VECTOR_CHARACTERS:
                break
        found = places.setdefault(word, [])
        if position < MAX_POSITION and len(found) < 255:
            found.append(position)
    words = [f"'{word}'" + (":" + ",".join(map(str, found)) if found else "") for word, found in places.items()]
    return " ".join([f"'{_tenant_word(tenant)}'", *words])


def tsquery(query: str, tenant: str) -> str:
    """Return the tsquery for `query`: all words must occur, the last one may be unfinished."""
    phrases = [words_of(piece) for piece in query_pieces(query)]
    terms = ["(" + " <-> ".join(f"'{word}'" for word in words) + ")" for words in phrases if words]
    if terms and phrases[-1] and may_be_unfinished(query):
        terms[-1] = f"{terms[-1][:-1]}:*)"
    return " & ".join([f"'{_tenant_word(tenant)}'", *terms])


def words_of(text: str) -> list[str]:
    """Return the words of a text in their order, in lower case and without accents."""
    folded = unicodedata.normalize("NFKD", segmented(text).replace(SEPARATOR, " ").casefold())
    plain = "".join(character for character in folded if not unicodedata.combining(character))
    # Hangul is composed again: a word is a syllable, not a part of one.
    return [word for word in _WORD.findall(unicodedata.normalize("NFC", plain)) if len(word.encode()) <= MAX_WORD_BYTES]


def _tenant_word(tenant: str) -> str:
    """Return the word that stands for `tenant`. No text contains it, since words have no underscore."""
    return f"_{tenant.encode().hex()}"
