"""Secret that tenants' salts are derived from: one file, created on the first start. Servers on one Redis share it."""

import hmac
import os
import secrets
import tempfile
from pathlib import Path

from engine.api.errors import EbbError

SECRET_BYTES = 32


class SecretError(EbbError):
    """The secret file cannot be read, cannot be created, or is too short."""

    code = "secret_unusable"


def load_secret(path: Path) -> bytes:
    """Return the bytes of `path`. A missing file is created with 32 random bytes and mode 0600.

    Processes that start at the same time agree, since the complete file is linked to its name only once. Raise
    SecretError.
    """
    try:
        if not path.exists():
            _create(path)
        secret = path.read_bytes()
    except OSError as error:
        raise SecretError(f"secret file {path}: {error.strerror or error}", param="secret-file") from error
    if len(secret) < SECRET_BYTES:
        raise SecretError(
            f"secret file {path} holds {len(secret)} bytes and needs at least {SECRET_BYTES}; delete the file to "
            "have a new one created (blocks in Redis under the old secret are then no longer found)",
            param="secret-file",
        )
    return secret


def existing_secret(path: Path) -> bytes | None:
    """Return the bytes of `path`; None if it does not exist. Raise SecretError."""
    return load_secret(path) if path.exists() else None


def digest_of_secret(path: Path) -> bytes:
    """Return a digest by which servers notice that their secrets differ. Creates the file as `load_secret` does."""
    return hmac.digest(load_secret(path), b"servers of one database", "sha256")


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        # Unlike a rename, a link fails if another process was first. In that case its secret is used.
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        os.unlink(draft)
