"""Files of hub models on this disk, in the layout of the hub's own cache.

hub/models--ORG--NAME/
    blobs/DIGEST                    verified contents; DIGEST.partial while they are downloaded
    snapshots/COMMIT/PATH           link to a blob
    ready/CHOICE                    the commit whose files are all there; written last
"""

import os
from dataclasses import dataclass
from pathlib import Path

from models.download.hub.repository import HubName, RepoFile
from models.download.staging import no_room_errors


@dataclass(frozen=True, slots=True)
class HubFolder:
    """Folder of one repository."""

    root: Path

    @classmethod
    def of(cls, name: HubName, cache_dir: Path) -> "HubFolder":
        """Return the folder of the repository of `name` below `cache_dir`. Nothing is created."""
        return cls(cache_dir / "hub" / f"models--{name.repository.replace('/', '--')}")

    def blob(self, file: RepoFile) -> Path:
        """Return the place of the contents of `file`."""
        return self.root / "blobs" / file.digest

    def snapshot(self, commit: str) -> Path:
        """Return the folder of the files of `commit`."""
        return self.root / "snapshots" / commit

    def link(self, commit: str, file: RepoFile) -> Path:
        """Make the downloaded `file` appear in the snapshot of `commit`, and return its path there."""
        path = self.snapshot(commit) / file.path
        with no_room_errors(self.root):
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.is_symlink() and not path.exists():
                path.symlink_to(os.path.relpath(self.blob(file), path.parent))
        return path

    def ready(self, choice: str) -> Path | None:
        """Find the path of a complete model: the snapshot, or the GGUF file in it."""
        try:
            commit, path = self._mark(choice).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            return None
        found = self.snapshot(commit) / path
        return found if found.exists() else None

    def set_ready(self, choice: str, commit: str, path: str) -> None:
        """Note that all files of `choice` are in the snapshot of `commit`. path: the GGUF file; "." for the folder."""
        mark = self._mark(choice)
        with no_room_errors(self.root):
            mark.parent.mkdir(parents=True, exist_ok=True)
            partial = mark.with_name(f".{mark.name}.partial")
            partial.write_text(f"{commit}\n{path}\n", encoding="utf-8")
            partial.rename(mark)

    def _mark(self, choice: str) -> Path:
        return self.root / "ready" / (choice.lower().replace("/", "--") or "safetensors")
