"""A database that lost its write-ahead log, or all of its content, between two processes."""

import shutil
from pathlib import Path

import pytest

from app.storage.store import Store


async def killed(path: Path) -> Path:
    """Copy the files that a process leaves when it is killed after a few acts."""
    store = await Store.open(path)
    for title in ("one", "two"):
        await store.conversations.create({"title": title})
    folder = path.parent / "killed"
    folder.mkdir()
    for file in path.parent.glob("conversations.db*"):
        shutil.copy(file, folder)
    await store.close()
    return folder / path.name


async def lost(path: Path) -> str | None:
    """Open the file, and return what its health says."""
    store = await Store.open(path)
    found = store.database.health.lost
    await store.close()
    return found


async def test_whole_file_of_killed_process_has_lost_nothing(tmp_path: Path) -> None:
    assert await lost(await killed(tmp_path / "conversations.db")) is None


@pytest.mark.parametrize("how", ["deleted", "garbled"])
async def test_lost_log_is_noticed_at_the_start(tmp_path: Path, how: str) -> None:
    path = await killed(tmp_path / "conversations.db")
    log = path.with_name("conversations.db-wal")
    assert log.stat().st_size > 0
    if how == "deleted":
        log.unlink()
    else:
        log.write_bytes(b"x" * log.stat().st_size)
    assert "write-ahead log" in (await lost(path) or "")


async def test_emptied_file_is_noticed_until_something_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    await killed(path)
    path.write_bytes(b"")
    for _ in range(2):
        assert "is empty" in (await lost(path) or "")
    store = await Store.open(path)
    await store.conversations.create({"title": "new"})
    await store.close()
    assert await lost(path) is None


async def test_new_file_has_lost_nothing(tmp_path: Path) -> None:
    assert await lost(tmp_path / "conversations.db") is None
