"""Salts of tenants: what makes the block keys of one tenant unknown to every other."""

import hmac
import json
import os
import tempfile
import threading
from pathlib import Path

from engine.errors import EngineError


class TenantSalts:
    """A tenant's salt is an HMAC, with the server's secret, of its name and of how often it was deleted.

    Thread-safe. `path` keeps the counts of those that were deleted at least once, under a digest of their names; with
    None they last as long as the process. Raises EngineError if the file is there and cannot be used: to go on without
    it would let a tenant find again what was deleted.
    """

    def __init__(self, secret: bytes, path: Path | None = None) -> None:
        self._secret = secret
        self._path = path
        self._lock = threading.Lock()
        self._generations = _read(path) if path is not None else {}

    def salt(self, tenant: str) -> bytes:
        """32 bytes."""
        generation = self._generations.get(self._entry(tenant), 0)
        return self._digest(f"{generation}:{tenant}".encode())

    @property
    def public_salt(self) -> bytes:
        """32 bytes: of what all tenants may share."""
        return self._digest(b"public")

    def rotate(self, tenant: str) -> None:
        """From now on, also after a restart, the tenant has another salt. Waits for the disk.

        Raises EngineError if that cannot be made to last; the salt is the same as before then.
        """
        with self._lock:
            entry = self._entry(tenant)
            generations = {**self._generations, entry: self._generations.get(entry, 0) + 1}
            if self._path is not None:
                _write(self._path, generations)
            self._generations = generations

    def _entry(self, tenant: str) -> str:
        return self._digest(b"name:" + tenant.encode()).hex()

    def _digest(self, message: bytes) -> bytes:
        return hmac.digest(self._secret, message, "sha256")


def _read(path: Path) -> dict[str, int]:
    try:
        generations = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise EngineError(f"the file of deleted tenants {path}: {error.strerror or error}") from error
    except ValueError:
        generations = None
    if not isinstance(generations, dict) or not all(type(count) is int for count in generations.values()):
        raise EngineError(
            f"the file of deleted tenants {path} is damaged; restore it, or delete it together with the secret: "
            "then nobody finds any block of before"
        )
    return generations


def _write(path: Path, generations: dict[str, int]) -> None:
    """The file is whole at any time, and the new one lasts once this has returned."""
    try:
        descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "w") as file:
                json.dump(generations, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise EngineError(
            f"the tenant is not deleted: {path} cannot be written: {error.strerror or error}; try again"
        ) from error
