"""Durability and privacy of the database: writes that wait for the disk, and the mode of the file."""

import errno
import os
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.domain.token_history import pack_ids
from app.storage.errors import DatabaseError
from app.storage.keys import Login
from app.storage.run_records import MessageEnd, RunProgress
from app.storage.sqlite.database import SqliteDatabase
from app.storage.store import Store
from app.tenants.limits import TenantLimits
from tests.unit.stored_chats import answered, turn

FULL, NORMAL = 2, 1


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


async def last_synchronous(store: Store) -> int:
    """Return how the last transaction waited for the disk."""
    database = store.database
    assert isinstance(database, SqliteDatabase)
    [[level]] = await database.apart(lambda each: each.fetch_all("PRAGMA synchronous"))
    return int(level)


async def test_keys_deletions_and_begins_survive_a_power_cut(store: Store) -> None:
    levels = dict[str, int]()
    key, _ = await store.keys.create("laptop", "alice", "user")
    levels["key"] = await last_synchronous(store)
    await store.keys.log_in(b"digest", Login(key.id, 1e12))
    levels["login"] = await last_synchronous(store)
    await store.limits.set("alice", TenantLimits(conversations=3))
    levels["limits"] = await last_synchronous(store)
    await store.keys.revoke(key.id)
    levels["revocation"] = await last_synchronous(store)
    conversation = await store.conversations.create({})
    levels["conversation"] = await last_synchronous(store)
    question, answer = await turn(store, conversation, "one")
    levels["begin"] = await last_synchronous(store)
    await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(answer)
    )
    await store.deletions.hide_message(question.id)
    levels["message hidden"] = await last_synchronous(store)
    await store.keys.mark_used([key.id], 1.0)
    await store.deletions.hide_conversation(conversation.id)
    levels["conversation hidden"] = await last_synchronous(store)
    assert levels == dict.fromkeys(levels, FULL)


async def test_progress_and_uses_do_not_wait_for_the_disk(store: Store) -> None:
    conversation = await store.conversations.create({})
    _, answer = await turn(store, conversation, "one")
    await store.runs.save_progress([RunProgress(answer.run_id or "", 0, pack_ids([1]), [])])
    assert await last_synchronous(store) == NORMAL
    await store.runs.finish(
        MessageEnd(content="Yes.", status="complete", finish_reason="stop", token_ids=b"").of(answer)
    )
    assert await last_synchronous(store) == NORMAL
    await store.keys.mark_used(["key"], 1.0)
    assert await last_synchronous(store) == NORMAL


async def test_files_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = await Store.open(tmp_path / "conversations.db")
        await answered(store, await store.conversations.create({}), "one")
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in os.scandir(tmp_path)}
        await store.close()
    finally:
        os.umask(before)
    assert modes == {f"conversations.db{end}": 0o600 for end in ("", "-wal", "-shm", "-mark")}


async def test_mode_of_an_existing_file_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    sqlite3.connect(path).close()
    os.chmod(path, 0o644)
    store = await Store.open(path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    await store.close()


async def test_write_that_fails_is_not_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a statement of the database itself fail that belongs to each write."""

    def fail(_writer: object) -> float:
        raise sqlite3.OperationalError("locking protocol")

    with monkeypatch.context() as patch:
        patch.setattr("app.storage.sqlite.database._newest_act", fail)
        with pytest.raises(DatabaseError):
            await store.conversations.create({"title": "Sea"})
    assert (await store.conversations.page(limit=5)).conversations == []


async def test_disk_that_cannot_be_looked_at_fails_no_write(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: object) -> os.stat_result:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("app.storage.sqlite.file_checks.os.stat", fail)
        made = await store.conversations.create({"title": "Sea"})
    assert (await store.conversations.get(made.id)).title == "Sea"
