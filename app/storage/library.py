"""The library of a tenant: presets, saved prompts, and the texts of files, each under a name."""

import json
import time
from typing import Final

from app.domain.library import KeptFile, Preset, SavedPrompt
from app.domain.records import new_id
from app.storage.connection import DatabaseConnection, Row
from app.storage.database import Database
from app.storage.limits import check_size
from app.storage.named_rows import NamedKind
from app.storage.rows import dump
from engine.api.errors import ConflictError, NotFoundError


def _preset_values(preset: Preset) -> tuple[object, ...]:
    return preset.name, preset.system_prompt, dump(preset.params), preset.model, preset.is_default


def _preset_of(row: Row) -> Preset:
    return Preset(
        row["id"],
        row["name"],
        row["system_prompt"],
        json.loads(row["params"]),
        row["model"],
        bool(row["is_default"]),
    )


def _clear_default(connection: DatabaseConnection, tenant: str, preset: Preset) -> None:
    """Make room for a new default, which replaces the former one."""
    if preset.is_default:
        connection.execute("UPDATE preset SET is_default = FALSE WHERE tenant = ? AND is_default", (tenant,))


PRESETS = NamedKind(
    table="preset",
    columns=("id", "name", "system_prompt", "params", "model", "is_default"),
    noun="preset",
    code="preset",
    values_of=_preset_values,
    from_row=_preset_of,
    maximum=100,
    prepare=_clear_default,
)

SAVED_PROMPTS = NamedKind(
    table="saved_prompt",
    columns=("id", "name", "text"),
    noun="saved prompt",
    code="prompt",
    values_of=lambda prompt: (prompt.name, prompt.text),
    from_row=lambda row: SavedPrompt(row["id"], row["name"], row["text"]),
    maximum=200,
)


MAX_KEPT_FILES: Final = 500
"""Maximum number of kept files of a tenant."""

FILE_COLUMNS: Final = "id, name, characters, kept_at"


class KeptFileStore:
    """The kept files of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def all(self) -> list[KeptFile]:
        """Return the kept files, the newest first. Their texts are not read."""
        sql = f"SELECT {FILE_COLUMNS} FROM kept_file WHERE tenant = ? ORDER BY kept_at DESC, id"
        return await self._database.read_as(_file_of, sql, (self._tenant,), tenant=self._tenant)

    async def text(self, file_id: str) -> tuple[KeptFile, str]:
        """Return a kept file and its text. Raise NotFoundError."""
        sql = f"SELECT {FILE_COLUMNS}, text FROM kept_file WHERE id = ? AND tenant = ?"
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

        def write(connection: DatabaseConnection) -> KeptFile:
            connection.execute("DELETE FROM kept_file WHERE tenant = ? AND name = ?", (self._tenant, name))
            added = connection.execute(
                f"INSERT INTO kept_file(tenant, text, {FILE_COLUMNS}) SELECT ?, ?, ?, ?, ?, ? "
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

        def delete(connection: DatabaseConnection) -> None:
            if not connection.execute("DELETE FROM kept_file WHERE id = ? AND tenant = ?", (file_id, self._tenant)):
                raise _not_found(file_id)

        await self._database.write(delete)


def _file_of(row: Row) -> KeptFile:
    return KeptFile(row["id"], row["name"], row["characters"], row["kept_at"])


def _not_found(file_id: str) -> NotFoundError:
    return NotFoundError(f"There is no kept file {file_id}", param="id", code="file_not_found")
