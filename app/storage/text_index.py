"""The full-text index over titles and messages, as both databases have it.

Each database finds the words of `app.storage.search_words`. The table `searchable` numbers the titles and the messages,
and triggers of the schema add each one to the index. The newest have the highest numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Literal

from app.domain.records import ConversationSource
from app.storage.connection import DatabaseConnection
from app.storage.index_batches import next_batch

Indexed = Literal["message", "title"]


class TextIndex(ABC):
    """The full-text index of a database. Has no state: each call works on the connection that it receives."""

    @abstractmethod
    def newest(
        self, connection: DatabaseConnection, query: str, *, tenant: str, kind: Indexed, numbers: range, first: int
    ) -> Iterator[list[int]]:
        """Yield those of `numbers` whose rows are the tenant's and have every word of `query`, the greatest first.

        They come in lists, of which the first has about `first` numbers and each one more than the one before it.
        Rows of deleted chats may be among them.
        """

    @abstractmethod
    def among(self, connection: DatabaseConnection, query: str, numbers: Sequence[int]) -> list[int]:
        """Return those of `numbers` whose rows, of the kind that is searched, have every word of `query`."""

    @abstractmethod
    def known(
        self,
        connection: DatabaseConnection,
        words: Sequence[str],
        *,
        tenant: str,
        source: ConversationSource,
        unfinished: bool,
    ) -> set[str]:
        """Return those of `words` that the tenant's messages or titles contain.

        words: of letters alone, as they are indexed (`app.storage.search_words`).
        unfinished: whether the beginning of a longer word counts, too.
        """

    @abstractmethod
    def reassign(self, connection: DatabaseConnection, conversation_id: str, tenant: str) -> None:
        """Index the title and the messages of a conversation as those of `tenant`."""

    def index_some(self, connection: DatabaseConnection) -> bool:
        """Index a batch of the newest titles and messages that are not indexed, and return whether there were any."""
        batch = next_batch(connection)
        if batch is None:
            return False
        self._index(connection, batch)
        return True

    @abstractmethod
    def _index(self, connection: DatabaseConnection, batch: range) -> None:
        """Index the rows of `searchable` whose numbers are in `batch` and that are not indexed."""

    def begin_purge(self, connection: DatabaseConnection) -> bool:  # noqa: ARG002
        """Begin to drop the words of removed messages, and return whether there are any: none, if rows take theirs."""
        return False

    def purge_some(self, connection: DatabaseConnection) -> bool:  # noqa: ARG002
        """Drop a batch of the words of removed messages, and return whether there are more."""
        return False
