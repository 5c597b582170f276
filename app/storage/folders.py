"""The folders of a tenant."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.bounds import MAX_FOLDER_DEPTH, MAX_FOLDERS
from app.domain.folder import Folder, FolderLevel, FolderTree
from app.domain.records import new_id
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.storage.list_filter import CHATS
from app.storage.named_rows import NamedKind, NamedRows, insert_named
from engine.api.errors import ConflictError, InvalidRequestError


@dataclass(frozen=True, slots=True)
class FolderContents:
    """Numbers of chats by folder, and the tags of the chats.

    counts: number of chats directly in each folder that has any, by its id.
    """

    counts: dict[str, int]
    tags: list[str]


class FolderStore:
    """The folders of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant
        self._rows = NamedRows(database, tenant, KIND)

    async def all(self) -> list[Folder]:
        """Return the folders, by name."""
        return await self._rows.all()

    async def contents(self) -> FolderContents:
        """Return how many chats are directly in each folder, and the tags of all chats, apart from archived ones."""
        listed, values = CHATS.of(self._tenant, self._database.dialect)

        def read(connection: DatabaseConnection) -> FolderContents:
            counted = f"SELECT folder_id, count(*) AS chats {listed} AND folder_id IS NOT NULL GROUP BY folder_id"
            counts = {row["folder_id"]: row["chats"] for row in connection.fetch_all(counted, values)}
            sets = connection.fetch_all(f"SELECT DISTINCT tags {listed} AND tags IS NOT NULL", values)
            tags = {tag for row in sets for tag in json.loads(row["tags"])}
            return FolderContents(counts, sorted(tags))

        return await self._database.read_together(read, tenant=self._tenant)

    async def add(self, folder: Folder) -> None:
        """Store a new folder.

        Raises:
            ConflictError: another folder in the same place has the name, or there are MAX_FOLDERS.
            InvalidRequestError: the folder cannot be in this place.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.add(folder)

    async def replace(self, folder: Folder) -> None:
        """Replace the folder with the same id.

        Raises:
            NotFoundError: there is no such folder.
            ConflictError: another folder in the same place has the name.
            InvalidRequestError: the folder cannot be in this place.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.replace(folder)

    async def remove(self, folder_id: str) -> None:
        """Remove a folder. The folders and conversations in it move to where it was.

        Raises:
            NotFoundError: there is no such folder.
            ConflictError: a folder in it and one next to it have the same name.
        """

        def remove(connection: DatabaseConnection) -> None:
            row = connection.fetch_one(
                "SELECT parent_id FROM folder WHERE id = ? AND tenant = ?", (folder_id, self._tenant)
            )
            if row is None:
                raise self._rows.not_found(folder_id)
            connection.execute(
                "UPDATE conversation SET folder_id = ? WHERE folder_id = ?", (row["parent_id"], folder_id)
            )
            # A folder inside may have the name of this one.
            connection.execute("DELETE FROM folder WHERE id = ?", (folder_id,))
            connection.execute("UPDATE folder SET parent_id = ? WHERE parent_id = ?", (row["parent_id"], folder_id))

        try:
            await self._database.write(remove)
        except DuplicateError:
            raise ConflictError(
                "A folder inside this one and a folder next to it have the same name: rename one of them first",
                code="folder_exists",
            ) from None


def folder_tree(connection: DatabaseConnection, tenant: str) -> FolderTree:
    """Read all folders of a tenant."""
    sql = f"SELECT {', '.join(KIND.columns)} FROM folder WHERE tenant = ?"
    return FolderTree(_folder_of(row) for row in connection.fetch_all(sql, (tenant,)))


def check_folder(connection: DatabaseConnection, tenant: str, folder_id: str | None) -> None:
    """Check that a conversation can be put into a folder, inside the transaction that does it.

    Raise InvalidRequestError: the tenant has no such folder.
    """
    sql = "SELECT 1 FROM folder WHERE id = ? AND tenant = ?"
    if folder_id is not None and connection.fetch_one(sql, (folder_id, tenant)) is None:
        raise InvalidRequestError(f"There is no folder {folder_id}", param="folder_id", code="folder_not_found")


def folder_at(connection: DatabaseConnection, tenant: str, path: Sequence[FolderLevel]) -> str | None:
    """Return the id of the folder with the names of `path`, inside the caller's transaction.

    The folders that are missing are made, with their system prompts. An empty path has no folder.

    Raise ConflictError for more than MAX_FOLDERS, LimitReachedError.
    """
    parent: str | None = None
    for level in path:
        row = connection.fetch_one(
            "SELECT id FROM folder WHERE tenant = ? AND name = ? AND coalesce(parent_id, '') = ?",
            (tenant, level.name, parent or ""),
        )
        if row is None:
            folder = Folder(new_id("folder"), level.name, parent, level.system_prompt)
            insert_named(connection, tenant, KIND, folder)
            parent = folder.id
        else:
            parent = row["id"]
    return parent


def _check_place(connection: DatabaseConnection, tenant: str, folder: Folder) -> None:
    """Raise InvalidRequestError if there is no such place, or if the folder would be in itself or too deep."""
    if folder.parent_id is None:
        return
    tree = folder_tree(connection, tenant)
    if folder.parent_id not in tree:
        raise InvalidRequestError(f"There is no folder {folder.parent_id}", param="parent_id", code="folder_not_found")
    above = tree.way_up(folder.parent_id)
    if any(each.id == folder.id for each in above):
        raise InvalidRequestError(
            f"The folder {folder.name!r} cannot be inside itself", param="parent_id", code="folder_in_itself"
        )
    if len(above) + tree.height(folder.id) > MAX_FOLDER_DEPTH:
        raise InvalidRequestError(
            f"Folders can be inside each other to {MAX_FOLDER_DEPTH} levels", param="parent_id", code="folder_too_deep"
        )


def _folder_of(row: Row) -> Folder:
    return Folder(row["id"], row["name"], row["parent_id"], row["system_prompt"])


KIND = NamedKind(
    table="folder",
    columns=("id", "name", "parent_id", "system_prompt"),
    noun="folder",
    code="folder",
    values_of=lambda folder: (folder.name, folder.parent_id, folder.system_prompt),
    from_row=_folder_of,
    maximum=MAX_FOLDERS,
    prepare=_check_place,
)
