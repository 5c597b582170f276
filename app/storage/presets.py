"""The presets of a tenant."""

import json

from app.domain.preset import Preset
from app.storage.connection import Connection, Row
from app.storage.database import Database
from app.storage.named_rows import NamedKind, NamedRows
from app.storage.rows import dump

MAX_PRESETS = 100
"""Maximum number of presets of a tenant."""


class PresetStore:
    """The presets of a tenant. Each method is one transaction or one read."""

    def __init__(self, database: Database, tenant: str) -> None:
        self._rows = NamedRows(database, tenant, KIND)
        self._tenant = tenant

    async def all(self) -> list[Preset]:
        """Return the presets, by name."""
        return await self._rows.all()

    async def add(self, preset: Preset) -> None:
        """Store a new preset. A new default replaces the former one.

        Raises:
            ConflictError: another preset has the name, or there are MAX_PRESETS.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.add(preset, MAX_PRESETS, lambda connection: self._clear_default(connection, preset))

    async def replace(self, preset: Preset) -> None:
        """Replace the preset with the same id. A new default replaces the former one.

        Raises:
            NotFoundError: there is no such preset.
            ConflictError: another preset has the name.
            LimitReachedError: the tenant's limit on stored bytes is reached.
        """
        await self._rows.replace(preset, lambda connection: self._clear_default(connection, preset))

    async def remove(self, preset_id: str) -> None:
        """Remove a preset. Chats keep their settings. Raise NotFoundError."""
        await self._rows.remove(preset_id)

    def _clear_default(self, connection: Connection, preset: Preset) -> None:
        if preset.is_default:
            connection.execute("UPDATE preset SET is_default = FALSE WHERE tenant = ? AND is_default", (self._tenant,))


def _values_of(preset: Preset) -> tuple[object, ...]:
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


KIND = NamedKind(
    table="preset",
    columns=("id", "name", "system_prompt", "params", "model", "is_default"),
    noun="preset",
    code="preset",
    values_of=_values_of,
    from_row=_preset_of,
)
