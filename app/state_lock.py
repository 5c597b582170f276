"""One process at a time works in a state directory."""

import fcntl
import os
from pathlib import Path


def lock_state_dir(state_dir: Path) -> int | None:
    """An exclusive lock, held until the returned descriptor is closed or the process ends; None if another has it."""
    descriptor = os.open(state_dir / "serve.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
