"""The reason why a file of a model folder cannot be read."""

import os
from pathlib import Path
from typing import Final

_POINTER: Final = b"version https://git-lfs"
"""First bytes of a file whose contents Git LFS has not fetched."""


def why_unreadable(file: Path, error: Exception) -> str:
    """Return the true reason of an `error` in reading `file`, and what to do, for the user.

    Libraries give other reasons: safetensors says "No such file or directory" of every file that it cannot open.
    """
    head = b""
    if not isinstance(error, PermissionError):
        try:
            with file.open("rb") as source:
                head = source.read(len(_POINTER))
        except OSError as found:
            error = found
    if isinstance(error, PermissionError):
        return f"{file} may not be read by this user (uid {os.geteuid()}). Give it the right to, with chmod or chown"
    if head == _POINTER:
        return f"{file} is a pointer of Git LFS, not the file itself. Run `git lfs pull` in its folder"
    if isinstance(error, OSError):
        return f"{file} cannot be read: {error.strerror or error}"
    return f"{file} cannot be read and may be truncated: {error}"
