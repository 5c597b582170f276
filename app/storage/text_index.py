"""The interface of the full-text index over titles and messages.

Each database finds the words of `app.storage.search_words`. The table `searchable` numbers the titles and the messages,
and triggers of the schema add each one to the index. The newest have the highest numbers.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, Protocol

from app.domain.records import ConversationSource
from app.storage.connection import Connection

Indexed = Literal["message", "title"]


class TextIndex(Protocol):
    """The full-text index of a database. Has no state: each call works on the connection that it receives."""

    def newest(
        self, connection: Connection, query: str, *, tenant: str, kind: Indexed, numbers: range, first: int
    ) -> Iterator[list[int]]:
        """Yield those of `numbers` whose rows are the tenant's and have every word of `query`, the greatest first.

        They come in lists, of which the first has about `first` numbers and each one more than the one before it.
        Rows of deleted chats may be among them.
        """

    def among(self, connection: Connection, query: str, numbers: Sequence[int]) -> list[int]:
        """Return those of `numbers` whose rows, of the kind that is searched, have every word of `query`."""

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
