"""The kept files of a tenant."""

import time
from typing import Final

from app.domain.ids import new_id
from app.domain.kept_file import KeptFile
from app.storage.connection import Connection, Row
from app.storage.database import Database
from app.storage.limits import check_size
from engine.api.errors import ConflictError, NotFoundError

MAX_KEPT_FILES: Final = 500
"""Maximum number of kept files of a tenant."""

COLUMNS: Final = "id, name, characters, kept_at"


class KeptFileStore:
    """The kept files of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def all(self) -> list[KeptFile]:
        """Return the kept files, the newest first. Their texts are not read."""
        sql = f"SELECT {COLUMNS} FROM kept_file WHERE tenant = ? ORDER BY kept_at DESC, id"
        return await self._database.read_as(_file_of, sql, (self._tenant,), tenant=self._tenant)

    async def text(self, file_id: str) -> tuple[KeptFile, str]:
        """Return a kept file and its text. Raise NotFoundError."""
        sql = f"SELECT {COLUMNS}, text FROM kept_file WHERE id = ? AND tenant = ?"
        rows = await self._database.read(sql, (file_id, self._tenant), tenant=self._tenant)
        if not rows:
            raise _not_found(file_id)
        return _file_of(rows[0]), rows[0]["text"]

    async def keep(self, name: str, text: str) -> KeptFile:
        """Keep a file, in place of the kept file of the same name.

        Raises:
            ConflictError: there are MAX_KEPT_FILES.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        file = KeptFile(new_id("file"), name, len(text), time.time())

        def write(connection: Connection) -> KeptFile:
            connection.execute("DELETE FROM kept_file WHERE tenant = ? AND name = ?", (self._tenant, name))
            added = connection.execute(
                f"INSERT INTO kept_file(tenant, text, {COLUMNS}) SELECT ?, ?, ?, ?, ?, ? "
                "WHERE (SELECT count(*) FROM kept_file WHERE tenant = ?) < ?",
                (self._tenant, text, file.id, name, file.characters, file.kept_at, self._tenant, MAX_KEPT_FILES),
            )
            if not added:
                raise ConflictError(
                    f"There are {MAX_KEPT_FILES} kept files already: delete one first", code="too_many_files"
                )
            check_size(connection, self._tenant)
            return file

        return await self._database.write(write)

    async def remove(self, file_id: str) -> None:
        """Remove a kept file. Raise NotFoundError."""

        def delete(connection: Connection) -> None:
            if not connection.execute("DELETE FROM kept_file WHERE id = ? AND tenant = ?", (file_id, self._tenant)):
                raise _not_found(file_id)

        await self._database.write(delete)


def _file_of(row: Row) -> KeptFile:
    return KeptFile(row["id"], row["name"], row["characters"], row["kept_at"])


def _not_found(file_id: str) -> NotFoundError:
    return NotFoundError(f"There is no kept file {file_id}", param="id", code="file_not_found")
