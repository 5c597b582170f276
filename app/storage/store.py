"""Everything that is kept in the database, by subject."""

from dataclasses import dataclass
from pathlib import Path

from app.storage.conversations import ConversationStore
from app.storage.database import Database
from app.storage.deletions import DeletionStore
from app.storage.drafts import DraftStore
from app.storage.imports import ImportStore
from app.storage.items import ItemStore
from app.storage.messages import MessageStore
from app.storage.next_prefixes import NextPrefixStore
from app.storage.responses import ResponseStore
from app.storage.runs import RunStore
from app.storage.search import SearchStore
from app.storage.token_index import TokenIndex
from app.storage.tree import TreeStore


@dataclass(frozen=True, slots=True)
class Store:
    """Owner of the database's connections."""

    database: Database
    conversations: ConversationStore
    messages: MessageStore
    tree: TreeStore
    runs: RunStore
    deletions: DeletionStore
    drafts: DraftStore
    search: SearchStore
    imports: ImportStore
    tokens: TokenIndex
    items: ItemStore
    responses: ResponseStore
    next_prefixes: NextPrefixStore

    @classmethod
    async def open(cls, path: Path) -> "Store":
        """Open or create the file at `path`. Raises UnusableDatabaseError."""
        database = await Database.open(path)
        return cls(
            database,
            conversations=ConversationStore(database),
            messages=MessageStore(database),
            tree=TreeStore(database),
            runs=RunStore(database),
            deletions=DeletionStore(database),
            drafts=DraftStore(database),
            search=SearchStore(database),
            imports=ImportStore(database),
            tokens=TokenIndex(database),
            items=ItemStore(database),
            responses=ResponseStore(database),
            next_prefixes=NextPrefixStore(database),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self.database.close()
