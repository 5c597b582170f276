"""The folders of a tenant."""

from app.domain.folder import Folder
from app.domain.ids import new_id
from app.storage.connection import Connection
from app.storage.database import Database
from app.storage.named_rows import NamedKind, NamedRows, insert_named
from engine.errors import InvalidRequestError

MAX_FOLDERS = 200
"""Maximum number of folders of a tenant."""


class FolderStore:
    """The folders of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._rows = NamedRows(database, tenant, KIND)

    async def all(self) -> list[Folder]:
        """Return the folders, by name."""
        return await self._rows.all()

    async def add(self, folder: Folder) -> None:
        """Store a new folder.

        Raises:
            ConflictError: another folder has the name, or there are MAX_FOLDERS.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.add(folder, MAX_FOLDERS)

    async def replace(self, folder: Folder) -> None:
        """Rename the folder with the same id.

        Raises:
            NotFoundError: there is no such folder.
            ConflictError: another folder has the name.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.replace(folder)

    async def remove(self, folder_id: str) -> None:
        """Remove a folder. Conversations in it stay, and are in no folder then. Raises NotFoundError."""
        await self._rows.remove(folder_id)


def check_folder(connection: Connection, tenant: str, folder_id: str | None) -> None:
    """Check that a conversation can be put into a folder, inside the transaction that does it.

    Raises InvalidRequestError: the tenant has no such folder.
    """
    sql = "SELECT 1 FROM folder WHERE id = ? AND tenant = ?"
    if folder_id is not None and connection.fetch_one(sql, (folder_id, tenant)) is None:
        raise InvalidRequestError(f"There is no folder {folder_id}", param="folder_id", code="folder_not_found")


def folder_named(connection: Connection, tenant: str, name: str) -> str:
    """Return the id of the folder with this name, and make one if there is none, inside the caller's transaction.

    Raises ConflictError for more than MAX_FOLDERS, LimitReachedError.
    """
    row = connection.fetch_one("SELECT id FROM folder WHERE tenant = ? AND name = ?", (tenant, name))
    if row is not None:
        return str(row["id"])
    folder = Folder(new_id("folder"), name)
    insert_named(connection, tenant, KIND, folder, MAX_FOLDERS)
    return folder.id


KIND = NamedKind(
    table="folder",
    columns=("id", "name"),
    noun="folder",
    code="folder",
    values_of=lambda folder: (folder.name,),
    from_row=lambda row: Folder(row["id"], row["name"]),
)
