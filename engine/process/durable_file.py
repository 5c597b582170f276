"""Small files whose changes survive a power cut."""

import json
import os
import tempfile
from pathlib import Path


def write_json(path: Path, value: object) -> None:
    """Replace the JSON file `path` atomically and durably. Raise OSError."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(value, file)
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
