"""The interface of the full-text index over titles and messages.

Each database finds the words of `app.storage.search_words`. The table `searchable` numbers the titles and the messages,
and triggers of the schema add each one to the index. The newest have the highest numbers.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol

from app.domain.records import ConversationSource
from app.storage.connection import Connection, Row
from app.storage.search_filter import SearchFilter


class TextIndex(Protocol):
    """The full-text index of a database. Has no state: each call works on the connection that it receives."""

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
        """Yield the tenant's messages that contain every word of `query`, the newest first.

        Their columns are number, id, role, created_at, conversation_id, title, archived, beginning and characters.
        The last two are the beginning of the text, at most `beginning` characters, and the length of the text.

        before: number that all numbers of the messages are below.
        """

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
        """Yield the tenant's conversations whose titles contain every word of `query`, the newest titles first.

        Their columns are id, title, archived and updated_at.
        """

    def known(
        self, connection: Connection, words: Sequence[str], *, tenant: str, source: ConversationSource, unfinished: bool
    ) -> set[str]:
        """Return those of `words` that the tenant's messages or titles contain.

        words: of letters alone, as they are indexed (`app.storage.search_words`).
        unfinished: whether the beginning of a longer word counts, too.
        """

    def reassign(self, connection: Connection, conversation_id: str, tenant: str) -> None:
        """Index the title and the messages of a conversation as those of `tenant`."""

    def index_some(self, connection: Connection) -> bool:
        """Index a batch of the newest titles and messages that are not indexed, and return whether there were any."""

    def begin_purge(self, connection: Connection) -> bool:
        """Begin to drop the words of removed messages, and return whether there are any."""

    def purge_some(self, connection: Connection) -> bool:
        """Drop a batch of the words of removed messages, and return whether there are more."""
