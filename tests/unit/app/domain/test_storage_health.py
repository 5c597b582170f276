"""A database file that is deleted or replaced while it is open."""

import shutil
from pathlib import Path

import pytest

from app.domain.storage_health import StorageUnavailableError
from app.storage.store import Store


@pytest.mark.parametrize("lost", ["conversations.db", "conversations.db-wal"])
async def test_deleted_file_refuses_writes_and_turns_health_red(tmp_path: Path, lost: str) -> None:
    store = await Store.open(tmp_path / "conversations.db")
    await store.conversations.create({"title": "before"})
    (tmp_path / lost).unlink()
    with pytest.raises(StorageUnavailableError, match="deleted or replaced"):
        await store.conversations.create({"title": "after"})
    assert "deleted or replaced" in (store.database.health.reason or "")
    await store.close()


async def test_replaced_file_refuses_writes_until_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    store = await Store.open(path)
    await store.conversations.create({"title": "before"})
    shutil.copy(path, tmp_path / "other.db")
    path.rename(tmp_path / "aside.db")
    (tmp_path / "other.db").rename(path)
    with pytest.raises(StorageUnavailableError):
        await store.conversations.create({"title": "lost"})
    (tmp_path / "aside.db").rename(path)
    await store.conversations.create({"title": "after"})
    assert store.database.health.reason is None
    await store.close()
