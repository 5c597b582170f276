"""The secret that tenant salts derive from: one file, made on the first start; who shares a Redis shares it."""

import os
import secrets
import tempfile
from pathlib import Path

from engine.errors import EbbError

SECRET_BYTES = 32


class SecretError(EbbError):
    """The secret file cannot be read, cannot be made, or holds too little."""

    code = "secret_unusable"


def load_secret(path: Path) -> bytes:
    """The bytes of `path`; a missing file is made, mode 0600, with 32 random bytes. Raises SecretError.

    Two processes that start at once agree: the file appears whole, under its name, once.
    """
    try:
        if not path.exists():
            _create(path)
        secret = path.read_bytes()
    except OSError as error:
        raise SecretError(f"secret file {path}: {error.strerror or error}", param="secret-file") from error
    if len(secret) < SECRET_BYTES:
        raise SecretError(
            f"secret file {path} holds {len(secret)} bytes, needs at least {SECRET_BYTES}; "
            "delete it to have a new one made (blocks kept in Redis under the old one are then not found again)",
            param="secret-file",
        )
    return secret


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(SECRET_BYTES))
            file.flush()
            os.fsync(file.fileno())
        # A link, unlike a rename, fails when another process was first; then that one's secret counts.
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        os.unlink(draft)
