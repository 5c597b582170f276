"""Salts of tenants, which make the block keys of one tenant unknown to every other."""

import hmac
import json
import os
import tempfile
import threading
from pathlib import Path

from engine.api.errors import EngineError


class TenantSalts:
    """Salts, each an HMAC with the server's secret of the tenant's name and its number of deletions. Thread-safe.

    path: file with the counts of tenants that were deleted at least once, under digests of their names. None keeps the
        counts for the lifetime of the process.

    The constructor raises EngineError if the file exists and cannot be used. Without the counts, a tenant could find
    deleted blocks again.
    """

    def __init__(self, secret: bytes, path: Path | None = None) -> None:
        self._secret = secret
        self._path = path
        self._lock = threading.Lock()
        self._generations = _read(path) if path is not None else {}

    def salt(self, tenant: str) -> bytes:
        """Return the tenant's salt, 32 bytes."""
        return self._digest(f"{self.generation(tenant)}:{tenant}".encode())

    @property
    def public_salt(self) -> bytes:
        """Salt of the blocks that all tenants may share, 32 bytes."""
        return self._digest(b"public")

    def rotate(self, tenant: str) -> None:
        """Give the tenant another salt, also after a restart. This blocks on the disk.

        Raise EngineError, with the salt unchanged, if the new one cannot be made durable.
        """
        with self._lock:
            entry = self._entry(tenant)
            generations = {**self._generations, entry: self._generations.get(entry, 0) + 1}
            if self._path is not None:
                _write(self._path, generations)
            self._generations = generations

    def generation(self, tenant: str) -> int:
        """Return the number of the tenant's deletions."""
        return self._generations.get(self._entry(tenant), 0)

    @property
    def generations(self) -> dict[str, int]:
        """Numbers of deletions under digests of the tenants' names, for another process with the same secret."""
        return self._generations

    def adopt_all(self, generations: dict[str, int]) -> None:
        """Take over the numbers of deletions from an owner of a file, unless higher ones are known."""
        with self._lock:
            known = self._generations
            self._generations = known | {entry: max(n, known.get(entry, 0)) for entry, n in generations.items()}

    def adopt(self, tenant: str, generation: int) -> None:
        """Take over a number of deletions that an owner of a file has made durable."""
        self.adopt_all({self._entry(tenant): generation})

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
        raise EngineError(f"the file of deleted tenants {path} cannot be read: {error.strerror or error}") from error
    except ValueError:
        generations = None
    if not isinstance(generations, dict) or not all(type(count) is int for count in generations.values()):
        raise EngineError(
            f"the file of deleted tenants {path} is damaged. Restore it, or delete it together with the secret, which "
            "makes all earlier blocks unusable."
        )
    return generations


def _write(path: Path, generations: dict[str, int]) -> None:
    """Replace the file atomically and durably."""
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
            f"the tenant was not deleted: {path} cannot be written: {error.strerror or error}. Try again."
        ) from error
