"""Full-text search over titles and messages, with a snippet of each result."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, product
from typing import Any, TypeVar

from app.domain.records import ConversationSource, Role
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import SEARCH_SECONDS, Database
from app.storage.errors import ReadTimeoutError
from app.storage.search_filter import ANYTHING, SearchFilter
from app.storage.search_rows import SearchRows
from app.storage.search_walk import newest
from app.storage.search_words import (
    INDEXED_CHARACTERS,
    may_be_unfinished,
    phrases_of,
    query_pieces,
    segmented,
    spellings,
)
from app.storage.snippets import Snippet, SnippetMaker
from engine.api.errors import ClientError

LOOKED_THROUGH = 524_288
"""Total characters of the messages on one result page that are scanned for snippets."""
LEAST_LOOKED_THROUGH = 4096
"""Minimum number of characters per message that are scanned for snippets."""

MOST_REPLACED = 3
"""Number of words of a query that are replaced. A query with more unknown words has no corrections."""
MOST_CORRECTIONS = 3

BEYOND_ALL = (1 << 63) - 1

MESSAGE_COLUMNS = """
    searchable.number, message.id, role, message.created_at, message.conversation_id, conversation.title, archived,
    {dialect.beginning}(message.content, ?) AS beginning, {dialect.characters}(message.content) AS characters
"""
TITLE_COLUMNS = "searchable.number, conversation.id, conversation.title, archived, updated_at"

Found = TypeVar("Found")


class SearchTooSlowError(ClientError):
    """422: a search was stopped at its time limit."""

    status = 422
    code = "search_too_slow"


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True)
class FoundTitle:
    """A conversation whose title matches a search."""

    id: str
    title: str
    archived: bool
    updated_at: float
    snippet: Snippet


class SearchStore:
    """Search over the conversations of one tenant. Read-only: triggers maintain the index."""

    def __init__(self, database: Database, tenant: str, *, seconds: float = SEARCH_SECONDS) -> None:
        self._database = database
        self._tenant = tenant
        self._seconds = seconds

    async def messages(
        self,
        query: str,
        *,
        limit: int,
        before: int = BEYOND_ALL,
        source: ConversationSource = "chat",
        within: SearchFilter = ANYTHING,
    ) -> list[FoundMessage]:
        """Return the messages that contain every word of `query`, the newest first.

        Raise SearchTooSlowError.

        limit: maximum number of messages.
        before: index number of the last message on the previous page.
        source: source of the conversations to search.
        within: conditions that the messages meet.
        """
        if not phrases_of(query):
            return []
        looked_through = min(INDEXED_CHARACTERS, max(LEAST_LOOKED_THROUGH, LOOKED_THROUGH // limit))

        def find(connection: DatabaseConnection) -> list[FoundMessage]:
            maker = SnippetMaker(query)
            rows = SearchRows(connection, "message", self._tenant, source, within)
            columns = MESSAGE_COLUMNS.format(dialect=connection.dialect)
            numbers = newest(self._database.text_index, query, rows, before, limit)
            found = rows.contents(columns, (looked_through,), numbers)
            return [_found_message(row, maker) for row in found]

        return await self._in_time(find)

    async def titles(
        self, query: str, *, limit: int, source: ConversationSource = "chat", within: SearchFilter = ANYTHING
    ) -> list[FoundTitle]:
        """Return the conversations whose titles contain every word of `query`, the newest titles first.

        A title has no role, so with a role in `within` there are none.
        Raise SearchTooSlowError.
        """
        if not phrases_of(query) or within.role is not None:
            return []

        def find(connection: DatabaseConnection) -> list[FoundTitle]:
            maker = SnippetMaker(query)
            rows = SearchRows(connection, "title", self._tenant, source, within)
            numbers = newest(self._database.text_index, query, rows, BEYOND_ALL, limit)
            found = rows.contents(TITLE_COLUMNS, (), numbers)
            return [_found_title(row, maker) for row in found]

        return await self._in_time(find)

    async def corrections(self, query: str, *, source: ConversationSource = "chat") -> list[str]:
        """Return queries that `query` may have been meant as, the likeliest first: made of the tenant's own words.

        Only words that the tenant has not written are replaced.
        Raise SearchTooSlowError.
        """
        pieces = query_pieces(query)

        def find(connection: DatabaseConnection) -> list[str]:
            def known(words: list[str], *, unfinished: bool = False) -> set[str]:
                # Some words are the same in the index, such as those with и and й. The first of them counts.
                asked = {segmented(word): word for word in reversed(words)}
                found = self._database.text_index.known(
                    connection, list(asked), tenant=self._tenant, source=source, unfinished=unfinished
                )
                return {asked[word] for word in found}

            choices, num_replaced = list[list[str]](), 0
            for piece in pieces:
                written = spellings(piece)
                is_last = len(choices) == len(pieces) - 1
                if not written or known([piece.lower()], unfinished=is_last and may_be_unfinished(query)):
                    choices.append([piece])
                    continue
                found = known(written)
                num_replaced += 1
                if not found or num_replaced > MOST_REPLACED:
                    return []
                choices.append([word for word in written if word in found])
            corrected = (" ".join(words) for words in product(*choices))
            return list(islice(corrected, MOST_CORRECTIONS)) if num_replaced else []

        return await self._in_time(find)

    async def _in_time(self, find: Callable[[DatabaseConnection], list[Found]]) -> list[Found]:
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


def _found_title(row: Row, maker: SnippetMaker) -> FoundTitle:
    values = _values(row)
    del values["number"]
    return FoundTitle(**values, snippet=maker.snippet(row["title"]))


def _values(row: Row) -> dict[str, Any]:
    return {**dict(row), "archived": bool(row["archived"])}
