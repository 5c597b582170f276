"""The presets of a tenant."""

import json
from collections.abc import Callable

from app.domain.preset import Preset
from app.storage.connection import Connection, Row
from app.storage.database import Database
from app.storage.errors import DuplicateError
from app.storage.limits import check_size
from app.storage.rows import dump
from engine.errors import ConflictError, NotFoundError

COLUMNS = "id, name, system_prompt, params, model, is_default"
MAX_PRESETS = 100
"""Maximum number of presets of a tenant."""


class PresetStore:
    """The presets of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    async def all(self) -> list[Preset]:
        """Return the presets, by name."""
        return await self._database.read_as(
            _preset_of,
            f"SELECT {COLUMNS} FROM preset WHERE tenant = ? ORDER BY lower(name), name",
            (self._tenant,),
            tenant=self._tenant,
        )

    async def add(self, preset: Preset) -> None:
        """Store a new preset. A new default replaces the former one.

        Raises:
            ConflictError: another preset has the name, or there are MAX_PRESETS.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """

        def insert(connection: Connection) -> None:
            self._clear_default(connection, preset)
            added = connection.execute(
                f"INSERT INTO preset(tenant, {COLUMNS}) SELECT ?, ?, ?, ?, ?, ?, ? "
                "WHERE (SELECT count(*) FROM preset WHERE tenant = ?) < ?",
                (self._tenant, preset.id, *_values(preset), self._tenant, MAX_PRESETS),
            )
            if not added:
                raise ConflictError(
                    f"There are {MAX_PRESETS} presets already: delete one first", code="too_many_presets"
                )
            check_size(connection, self._tenant)

        await self._write(insert, preset)

    async def replace(self, preset: Preset) -> None:
        """Replace the preset with the same id. A new default replaces the former one.

        Raises:
            NotFoundError: there is no such preset.
            ConflictError: another preset has the name.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """

        def update(connection: Connection) -> None:
            self._clear_default(connection, preset)
            changed = connection.execute(
                "UPDATE preset SET name = ?, system_prompt = ?, params = ?, model = ?, is_default = ? "
                "WHERE id = ? AND tenant = ?",
                (*_values(preset), preset.id, self._tenant),
            )
            if not changed:
                raise _no_preset(preset.id)
            check_size(connection, self._tenant)

        await self._write(update, preset)

    async def remove(self, preset_id: str) -> None:
        """Remove a preset. Chats keep their settings. Raises NotFoundError."""

        def delete(connection: Connection) -> None:
            sql = "DELETE FROM preset WHERE id = ? AND tenant = ?"
            if not connection.execute(sql, (preset_id, self._tenant)):
                raise _no_preset(preset_id)

        await self._database.write(delete)

    def _clear_default(self, connection: Connection, preset: Preset) -> None:
        if preset.is_default:
            connection.execute("UPDATE preset SET is_default = 0 WHERE tenant = ? AND is_default", (self._tenant,))

    async def _write(self, change: Callable[[Connection], None], preset: Preset) -> None:
        try:
            await self._database.write(change)
        except DuplicateError:
            raise ConflictError(
                f"Another preset has the name {preset.name!r}", param="name", code="preset_exists"
            ) from None


def _values(preset: Preset) -> tuple[object, ...]:
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


def _no_preset(preset_id: str) -> NotFoundError:
    return NotFoundError(f"There is no preset {preset_id}", param="id", code="preset_not_found")
