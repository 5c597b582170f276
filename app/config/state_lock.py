"""Lock that lets one process at a time work in a state directory."""

import fcntl
import os
from pathlib import Path

from app.config.options import SettingsError


def lock_state_dir(state_dir: Path) -> int | None:
    """Take the exclusive lock, and return its descriptor, or None if another process holds it.

    The lock is held until the descriptor is closed or the process ends. Raise SettingsError for an unusable directory.
    """
    try:
        descriptor = os.open(state_dir / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SettingsError(f"--state-dir {state_dir} cannot be used: {error.strerror}", param="state-dir") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
