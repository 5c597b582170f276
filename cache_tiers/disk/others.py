"""Folders of other secrets, next to that of this process: the values of servers that are gone."""

import os
import time
from contextlib import suppress
from pathlib import Path

from cache_tiers.disk.folder import DiskFolder, is_folder_name, is_own
from cache_tiers.disk.stored_value import stored_value_of


def remove_expired(path: Path, ttl_seconds: float) -> int:
    """Remove what was not used for the time to live, nor is promised, from folders next to `path` that no process uses.

    Return the number of removed files.
    """
    removed = 0
    for other in path.parent.iterdir():
        if other == path or not (is_folder_name(other.name) and other.is_dir()):
            continue
        # Another process may remove the same folder.
        with suppress(OSError):
            folder = DiskFolder(other)
            try:
                folder.create()
                if folder.hold() and folder.is_alone():
                    removed += _remove_expired(folder, time.time() - ttl_seconds)
            finally:
                folder.close()
    return removed


def _remove_expired(folder: DiskFolder, used_before: float) -> int:
    removed = 0
    for _, shard in folder.shards():
        for path in (f"{shard}/{name}" for name in os.listdir(shard) if is_own(name)):
            status = os.lstat(path)
            is_promised = stored_value_of(status, 0).is_promised(time.time())
            if status.st_mtime < used_before and not is_promised:
                os.unlink(path)
                removed += 1
        _remove_if_empty(shard)
        _remove_if_empty(os.path.dirname(shard))
    if not folder.shards():
        folder.remove()
    return removed


def _remove_if_empty(path: str) -> None:
    with suppress(OSError):
        os.rmdir(path)
