"""Opening a database of an earlier version without losing data."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.deltas import Delta
from app.domain.folder import Folder
from app.domain.records import Message
from app.domain.token_history import MessageTokens, pack_ids
from app.storage.errors import UnusableDatabaseError
from app.storage.list_filter import ListFilter
from app.storage.run_records import RunProgress, RunRecord
from app.storage.search_words import segmented
from app.storage.sqlite import database
from app.storage.sqlite.migrating import migrations
from app.storage.sqlite.snapshot import OWN_WORDS, copied
from app.storage.store import Store
from tests.sizes import LARGE

OLD_VERSION = 2

CONVERSATIONS = [
    ("conv_1", "Tides", "msg_4", "Be brief.", '{"top_k": 4}', 10.0, 40.0),
    ("conv_2", None, None, None, "{}", 20.0, 20.0),
]
MESSAGES = [
    ("msg_1", "conv_1", None, "user", "What is a tide?", "complete", None, None, None, None, None, 11.0, 11.0),
    (
        "msg_2",
        "conv_1",
        "msg_1",
        "assistant",
        "Water.",
        "complete",
        "stop",
        None,
        '{"a": 1}',
        "run_2",
        "{}",
        12.0,
        13.0,
    ),
    ("msg_3", "conv_1", "msg_1", "assistant", "", "failed", "error", '{"code": "x"}', None, "run_3", "{}", 14.0, 15.0),
    ("msg_4", "conv_1", "msg_1", "assistant", "The sea", "in_progress", None, None, None, "run_4", "{}", 16.0, None),
]


def write_old_file(path: Path, version: int = OLD_VERSION) -> None:
    with sqlite3.connect(path) as connection:
        connection.create_function("segmented", 1, segmented, deterministic=True)
        for script in migrations()[:version]:
            connection.executescript(script)
        connection.execute(f"PRAGMA user_version = {version}")
        connection.executemany(
            "INSERT INTO conversation(id, title, head_id, system_prompt, params, created_at, updated_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            CONVERSATIONS,
        )
        connection.executemany(
            "INSERT INTO message(id, conversation_id, parent_id, role, content, status, finish_reason, error, usage, "
            "run_id, params, created_at, completed_at, token_ids, prompt_key, starts_prompt) "
            f"VALUES ({', '.join('?' * 13)}, ?, 'key', ?)",
            [(*row, pack_ids([index, 49_000]), row[2] is None) for index, row in enumerate(MESSAGES)],
        )
    connection.close()


def versions() -> list[pytest.ParameterSet]:
    """Return every old schema, with the mark `large` on those between: an older one runs the same scripts."""
    newest = len(migrations())
    small = {OLD_VERSION, 3, 4, *range(0, newest, 8), newest - 1}
    return [pytest.param(version, marks=[] if version in small else [LARGE]) for version in range(OLD_VERSION, newest)]


async def test_file_of_schema_two_keeps_all_rows_and_gets_new_fields(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    write_old_file(path)
    store = await Store.open(path)

    listed = (await store.conversations.page()).conversations
    assert [
        (each.id, each.title, each.head_id, each.system_prompt, each.params, each.created_at, each.updated_at)
        for each in listed
    ] == [
        ("conv_1", "Tides", "msg_4", "Be brief.", {"top_k": 4}, 10.0, 40.0),
        ("conv_2", None, None, None, {}, 20.0, 20.0),
    ]
    assert [(each.version, each.pinned, each.archived, each.unread, each.title_source) for each in listed] == [
        (1, False, False, False, "user"),
        (1, False, False, False, None),
    ]
    messages = await store.messages.all_of("conv_1")
    assert [each.id for each in messages] == ["msg_1", "msg_2", "msg_3", "msg_4"]
    assert messages[1] == Message(
        id="msg_2",
        conversation_id="conv_1",
        parent_id="msg_1",
        role="assistant",
        content="Water.",
        status="complete",
        created_at=12.0,
        completed_at=13.0,
        finish_reason="stop",
        usage={"a": 1},
        run_id="run_2",
        params={},
        tokens=MessageTokens(pack_ids([1, 49_000]), "key"),
    )
    assert messages[2].error == {"code": "x"}

    await store.upkeep.index_all()
    assert [each.id for each in await store.search.messages("tide", limit=5)] == ["msg_1"]
    assert [each.id for each in await store.search.titles("tides", limit=5)] == ["conv_1"]
    assert await store.search.messages("sea", limit=5) == []
    assert await store.runs.close_unfinished() == 1
    assert [each.id for each in await store.search.messages("sea", limit=5)] == ["msg_4"]
    assert not await store.conversations.name_by_model("conv_1", "Perhaps a person's title was taken")
    await store.close()


@pytest.mark.parametrize("version", versions())
async def test_data_from_before_keys_belongs_to_keyless_tenant(tmp_path: Path, version: int) -> None:
    path = tmp_path / "conversations.db"
    write_old_file(path, version)
    if version > 3:
        with sqlite3.connect(path) as connection:
            connection.execute("INSERT INTO draft(text, updated_at) VALUES ('typed', 1.0)")
        connection.close()
    store = await Store.open(path)
    assert {each.id for each in (await store.conversations.page()).conversations} == {"conv_1", "conv_2"}
    assert (await store.drafts.get(None)).text == ("typed" if version > 3 else "")
    alice = store.of("alice")
    assert (await alice.conversations.page()).conversations == []
    assert (await alice.messages.find("msg_1"), (await alice.drafts.get(None)).text) == (None, "")
    assert await store.keys.all() == []
    await store.close()


async def test_disk_full_during_upgrade_asks_for_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "conversations.db"
    write_old_file(path, 30)
    pages = path.stat().st_size // 4096
    with monkeypatch.context() as patched:
        patched.setattr(database, "PRAGMAS", f"{database.PRAGMAS} PRAGMA max_page_count = {pages + 2};")
        with pytest.raises(UnusableDatabaseError, match=r"is full.*Nothing is lost\. Make room") as refused:
            await Store.open(path)
    assert "ebb restore" not in str(refused.value), "would put older chats in place of whole ones"
    store = await Store.open(path)
    assert {each.id for each in (await store.conversations.page()).conversations} == {"conv_1", "conv_2"}
    await store.close()


def write_file_without_prompt_triggers(path: Path) -> None:
    """Write a file of schema 39 as the first form of script 38 made it, with the prompt of an answer."""
    write_old_file(path, 39)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "DROP TRIGGER answer_prompt_added; DROP TRIGGER answer_prompt_taken; DROP TRIGGER message_leaves; "
            "CREATE TRIGGER message_leaves BEFORE DELETE ON message BEGIN "
            "DELETE FROM response WHERE message_id = old.id; END; "
            "INSERT INTO answer_prompt(message_id, token_ids) VALUES ('msg_2', x'01020304')"
        )


async def test_triggers_that_an_early_script_left_out_are_made(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    write_file_without_prompt_triggers(path)
    store = await Store.open(path)
    [counted] = await store.database.read("SELECT sum(nbytes) AS nbytes FROM tenant_usage")
    [stored] = await store.database.read("SELECT sum(nbytes) AS nbytes FROM stored_size")
    assert counted["nbytes"] == stored["nbytes"]
    await store.deletions.remove_conversation("conv_1")
    [counted] = await store.database.read("SELECT sum(nbytes) AS nbytes FROM tenant_usage")
    [stored] = await store.database.read("SELECT sum(nbytes) AS nbytes FROM stored_size")
    assert counted["nbytes"] == stored["nbytes"]
    await store.close()


def test_file_with_triggers_left_out_can_be_copied(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    write_file_without_prompt_triggers(path)
    with copied(path, tmp_path / "backup.db") as (_, contents):
        assert contents.missing == ("answer_prompt_added", "answer_prompt_taken")
        assert contents.conversations == len(CONVERSATIONS)


@pytest.mark.parametrize("version", [3, 8])
async def test_unfinished_run_of_earlier_version_can_be_resumed(tmp_path: Path, version: int) -> None:
    path = tmp_path / "conversations.db"
    write_old_file(path, version)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO run(id, message_id, kv_fingerprint, prompt_ids, priority, epoch, fruitless) "
            "VALUES ('run_4', 'msg_4', 'kv', ?, 2, 1, 0)",
            (pack_ids([5, 6]),),
        )
        said = [("run_4", 1, pack_ids([8]), '[[4, " sea"]]'), ("run_4", 0, pack_ids([7]), '[[3, "The"]]')]
        sql = "INSERT INTO run_event(run_id, first_token, token_ids, deltas) VALUES (?, ?, ?, ?)"
        connection.executemany(sql, said)
    connection.close()
    store = await Store.open(path)
    assert await store.runs.close_unfinished() == 0
    [left] = await store.runs.unfinished()
    assert left.record == RunRecord(
        id="run_4",
        message_id="msg_4",
        kv_fingerprint="kv",
        prompt_ids=pack_ids([5, 6]),
        priority=2,
        deadline=None,
        epoch=1,
        fruitless=0,
    )
    assert (left.tenant, left.answer.id) == (store.tenant, "msg_4")
    assert left.token_ids == pack_ids([7, 8])
    assert left.deltas == [Delta(3, "The"), Delta(4, " sea")]
    assert await store.runs.take_over([replace(left.record, epoch=2)]) == {"run_4"}
    await store.runs.save_progress([RunProgress("run_4", 2, pack_ids([9]), [Delta(5, "!")], epoch=2)])
    resumed = await store.runs.find("run_4")
    assert resumed is not None
    assert (resumed.token_ids, resumed.deltas[-1]) == (pack_ids([7, 8, 9]), Delta(5, "!"))
    await store.close()


async def test_file_has_newest_version_after_upgrade(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    write_old_file(path)
    await (await Store.open(path)).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(migrations()),)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()


async def test_search_index_is_built_in_batches_after_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.index_batches.BATCH_MESSAGES", 2)
    path = tmp_path / "conversations.db"
    write_old_file(path, 10)
    store = await Store.open(path)
    assert (await store.upkeep.progress()).left == 4
    assert await store.upkeep.index_some()
    assert (await store.upkeep.progress()).left == 2
    assert [each.id for each in await store.search.messages("water", limit=5)] == ["msg_2"], (
        "the newest messages must be indexed first"
    )
    assert await store.search.messages("tide", limit=5) == []
    await store.deletions.remove_conversation("conv_1")
    await store.close()
    again = await Store.open(path)
    await again.upkeep.index_all()
    assert (await again.upkeep.progress()).left == 0
    assert await again.search.messages("tide", limit=5) == []
    await again.close()


async def test_former_search_index_is_removed_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.sqlite.former_index.BATCH_ROWS", 1)
    path = tmp_path / "conversations.db"
    write_old_file(path, OWN_WORDS - 1)
    with sqlite3.connect(path) as connection:
        connection.executemany(
            "INSERT INTO search_text(rowid, content) VALUES (?, 'x')", [(each,) for each in (11, 12)]
        )
    connection.close()
    store = await Store.open(path)
    calls = 0
    while await store.upkeep.index_some():
        calls += 1
    assert calls > 4, "each row of two tables must be removed in a batch of its own"
    tables = {row["name"] for row in await store.database.read("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert not {name for name in tables if name.startswith("search_text")}
    assert [each.id for each in await store.search.messages("water", limit=5)] == ["msg_2"]
    with copied(path, tmp_path / "backup.db") as (_, contents):
        assert contents.missing == ()
    await store.close()


async def test_progress_of_search_index_is_kept_for_health(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.index_batches.BATCH_MESSAGES", 1)
    monkeypatch.setattr("app.storage.upkeep.LOG_SECONDS", 0.0)
    path = tmp_path / "conversations.db"
    write_old_file(path, 10)
    store = await Store.open(path)
    seen, done, index_some = list[int](), asyncio.Event(), store.upkeep.index_some

    async def watched() -> bool:
        seen.append(store.upkeep.unindexed)
        if not await index_some():
            done.set()
            return False
        return True

    monkeypatch.setattr(store.upkeep, "index_some", watched)
    store.upkeep.begin()
    await asyncio.wait_for(done.wait(), 20)
    assert seen == [4, 3, 2, 1, 0]
    await store.close()


async def test_conversations_stay_in_their_folders(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    write_old_file(path, 35)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "INSERT INTO folder(id, tenant, name) SELECT 'folder_1', tenant, 'Sea' FROM conversation LIMIT 1"
        )
        connection.execute("UPDATE conversation SET folder_id = 'folder_1' WHERE id = 'conv_2'")
        used = connection.execute("SELECT tenant, nbytes FROM tenant_usage").fetchall()
    connection.close()
    store = await Store.open(path)
    assert await store.folders.all() == [Folder("folder_1", "Sea")]
    assert [each.id for each in (await store.conversations.page(ListFilter(folder_id="folder_1"))).conversations] == [
        "conv_2"
    ]
    await store.close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT tenant, nbytes FROM tenant_usage").fetchall() == used
