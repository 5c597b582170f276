"""Record of the adapters that administrators have unloaded, which later starts leave out."""

import json
from pathlib import Path

from engine.api.errors import OutageError
from engine.process.durable_file import write_json
from models.adapters.found import find_adapters


class UnloadedAdapters:
    """Owner of the record. All methods block on the disk."""

    def __init__(self, file: Path | None = None) -> None:
        """file: None keeps no record."""
        self._file = file

    def names(self) -> frozenset[str]:
        """Return the names that a start leaves out. A record that cannot be read has none."""
        try:
            names = json.loads(self._file.read_bytes()) if self._file is not None else []
        except (OSError, ValueError):
            return frozenset()
        return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()

    def to_load(self, folder: Path | None) -> tuple[str, ...] | None:
        """Return the names of the adapters in `folder` to load at the start; None for all.

        Raise ModelNotFoundError if the folder cannot be read.
        """
        unloaded = self.names()
        if folder is None or not unloaded:
            return None
        return tuple(each.name for each in find_adapters(folder) if each.name not in unloaded)

    def add(self, name: str) -> None:
        """Leave an adapter out from the next start on. Raise OutageError, without a change, if that fails."""
        self._write(self.names() | {name})

    def remove(self, name: str) -> None:
        """Load an adapter at the next start again. Raise OutageError, without a change, if that fails."""
        if name in self.names():
            self._write(self.names() - {name})

    def _write(self, names: frozenset[str]) -> None:
        if self._file is None:
            return
        try:
            write_json(self._file, sorted(names))
        except OSError as error:
            raise OutageError(
                f"{self._file} cannot be written ({error.strerror or error}), so a restart would undo the change. "
                "Free some space, and try again."
            ) from error
