"""`ebb migrate`: a file becomes a database with the same rows, also after an interruption."""

import asyncio
import select
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from app.cli.main import main
from app.domain.folder import Folder
from app.storage.errors import DatabaseError, UnusableDatabaseError
from app.storage.list_filter import ListFilter
from app.storage.postgres import copying
from app.storage.postgres import database as module
from app.storage.postgres.connection import PostgresConnection
from app.storage.postgres.copying import TABLES, FileCopy, Progress
from app.storage.postgres.database import PostgresDatabase
from app.storage.postgres.own_schema import SCHEMA
from app.storage.sqlite.database import SqliteDatabase
from app.storage.store import Store
from app.storage.upkeep import Upkeep
from app.tenants.name import LOCAL
from cache_tiers.owners.block_key import KEY_BYTES, BlockKey
from tests.on_postgres import url_of
from tests.unit.app.storage.test_response_texts import LONG, responded, told
from tests.unit.stored_chats import answered, imported

TIME_LIMIT: Final = "SET idle_in_transaction_session_timeout = '500ms'"


async def store_at(path: Path) -> Store:
    """Open a file, although the stores of these tests are in PostgreSQL."""
    database = await SqliteDatabase.open(path)
    return Store._bound(database, Upkeep(database), LOCAL)


async def filled(path: Path) -> tuple[str, str]:
    """Make a file with rows in many tables. Return the ids of a conversation and of a question in it."""
    store = await store_at(path)
    await store.folders.add(Folder("folder_2", "Coast", None, "Speak of the sea."))
    await store.folders.add(folder := Folder("folder_1", "Sea", "folder_2"))
    conversation = await store.conversations.create({"title": "Tides", "folder_id": folder.id, "tags": ("a", "b")})
    question, answer = await answered(store, conversation, "high tide \N{WAVING HAND SIGN}")
    await store.ratings.rate(answer.id, "good", "Dry.")
    await store.drafts.put(conversation.id, "typed")
    await store.imports.add([imported("conv_1", ["gulls"] * 1200)], duplicates=False)
    await store.keys.create("alice", "alice", "user")
    await store.passwords.add("ada", "$argon2id$", admin=True)
    deleted = await store.conversations.create({"title": "Gone"})
    await store.deletions.hide_conversation(deleted.id)
    await store.owed_erasures.add([BlockKey(b"k" * KEY_BYTES)], 1000.0)
    for _ in range(2):
        await responded(store, told())
    await store.close()
    return conversation.id, question.id


async def copy(path: Path, url: str, tell: Callable[[Progress], None] = lambda _: None) -> None:
    target = await PostgresDatabase.open(url, for_copy=True)
    try:
        await FileCopy(path, target).run(tell)
    finally:
        await target.close()


async def test_copy_has_every_row_and_can_be_searched(tmp_path: Path) -> None:
    path, url = tmp_path / "conversations.db", url_of(tmp_path)
    conversation, question = await filled(path)
    await copy(path, url)
    store = await Store.open_postgres(url)
    found = await store.conversations.get(conversation)
    assert (found.title, found.tags, found.unread) == ("Tides", ("a", "b"), True)
    assert [each.id for each in await store.search.messages("tide", limit=5)] == [question]
    assert len((await store.recently_deleted.page()).deleted) == 1
    assert await store.passwords.find("ADA") is not None
    before = await store_at(path)
    assert await store.limits.stored_bytes() == await before.limits.stored_bytes()
    await before.close()
    # Rows that come later get separate numbers.
    await answered(store, found, "another")
    assert await store.responses.get(await responded(store, told(instructions=LONG * 2))) == told(instructions=LONG * 2)
    await store.close()


async def test_copy_has_the_indexes_of_a_new_database(tmp_path: Path) -> None:
    path, url, new = tmp_path / "conversations.db", url_of(tmp_path), url_of(tmp_path / "new")
    await filled(path)
    await copy(path, url)
    await (await Store.open_postgres(new)).close()
    found = list[set[str]]()
    for each in (url, new):
        with psycopg.connect(each) as connection:
            rows = connection.execute(
                "SELECT replace(indexdef, current_schema(), '') FROM pg_indexes WHERE schemaname = current_schema()"
            ).fetchall()
        found.append({definition for (definition,) in rows})
    assert found[0] == found[1]


async def test_nul_in_tags_of_a_file_breaks_no_filter(tmp_path: Path) -> None:
    path, url = tmp_path / "conversations.db", url_of(tmp_path)
    store = await store_at(path)
    conversation = await store.conversations.create({"tags": ("a\0\0b", "\\\0", "\\u0000")})
    await store.close()
    await copy(path, url)
    store = await Store.open_postgres(url)
    assert [each.id for each in (await store.conversations.page(ListFilter(tag="\\u0000"))).conversations] == [
        conversation.id
    ]
    assert (await store.conversations.get(conversation.id)).tags == ("a\ufffd\ufffdb", "\\\ufffd", "\\u0000")
    await store.close()


async def test_nul_in_stored_tags_is_replaced_by_script(tmp_path: Path) -> None:
    store = await Store.open_postgres(url_of(tmp_path))
    conversation = await store.conversations.create({"tags": ("a\0\0b", "\\\0", "\\u0000")})
    script = (SCHEMA / "0014-nul-in-tags.sql").read_text()
    await store.database.write(lambda connection: connection.execute(script))
    assert [each.id for each in (await store.conversations.page(ListFilter(tag="\\u0000"))).conversations] == [
        conversation.id
    ]
    assert (await store.conversations.get(conversation.id)).tags == ("a\ufffd\ufffdb", "\\\ufffd", "\\u0000")
    await store.close()


async def test_interrupted_copy_continues_and_no_server_starts_before(tmp_path: Path) -> None:
    path, url = tmp_path / "conversations.db", url_of(tmp_path)
    await filled(path)

    def interrupt(progress: Progress) -> None:
        if progress.table == "message":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await copy(path, url, interrupt)
    with pytest.raises(UnusableDatabaseError, match="incomplete copy"):
        await Store.open_postgres(url)
    seen = list[Progress]()
    await copy(path, url, seen.append)
    messages = [each for each in seen if each.table == "message"]
    assert messages[0].copied > 500, "the first batch must not be copied again"
    assert messages[-1].copied == messages[-1].rows == 1206
    await (await Store.open_postgres(url)).close()


async def test_copy_of_changed_file_or_into_used_database_is_refused(tmp_path: Path) -> None:
    path, url = tmp_path / "conversations.db", url_of(tmp_path)
    await filled(path)

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await copy(path, url, interrupt)
    store = await store_at(path)
    await store.conversations.create({"title": "Later"})
    await store.close()
    with pytest.raises(UnusableDatabaseError, match="has changed"):
        await copy(path, url)
    used = url_of(tmp_path / "used")
    store = await Store.open_postgres(used)
    await store.conversations.create({"title": "Here"})
    await store.close()
    with pytest.raises(UnusableDatabaseError, match="holds rows already"):
        await copy(path, used)


async def test_comparison_may_take_longer_than_a_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, url, waits = tmp_path / "conversations.db", url_of(tmp_path), ["file", "database"]
    await filled(path)
    monkeypatch.setattr(module, "ALONE", (TIME_LIMIT, module.ALONE[-1]))
    digest = copying._digest

    def slow(rows: Iterator[list[Any]]) -> str:
        # The first table with rows, first in the file and then in the database.
        beginning = list(islice(rows, 1))
        if beginning and waits:
            waits.pop()
            outlast_a_transaction(url)
        return digest(chain(beginning, rows))

    monkeypatch.setattr(copying, "_digest", slow)
    await copy(path, url)
    assert waits == []
    await (await Store.open_postgres(url)).close()


def outlast_a_transaction(url: str) -> None:
    """Wait until PostgreSQL has ended a session whose transaction was idle for TIME_LIMIT."""
    with closing(psycopg.connect(url)) as witness:
        witness.execute(TIME_LIMIT)
        ended, _, _ = select.select([witness.fileno()], [], [], 20)
        assert ended


async def test_transactions_of_a_copy_have_no_time_limit(tmp_path: Path) -> None:
    target = await PostgresDatabase.open(url_of(tmp_path), for_copy=True)
    [[limit]] = await target.write(lambda connection: connection.fetch_all("SHOW idle_in_transaction_session_timeout"))
    assert limit == "0"
    await target.close()


async def test_compared_rows_arrive_before_the_last_one_is_read(tmp_path: Path) -> None:
    target = await PostgresDatabase.open(url_of(tmp_path), for_copy=True)
    seen = list[int]()

    def read(connection: PostgresConnection) -> None:
        for [number] in connection.stream("SELECT 1 / (100000 - number) FROM generate_series(1, 100000) AS number"):
            seen.append(number)

    with pytest.raises(DatabaseError, match="division by zero"):
        await target.apart(read)
    assert len(seen) == 99_999
    await target.close()


async def test_every_table_of_the_file_is_copied_or_made_by_triggers(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    await (await store_at(path)).close()
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
    connection.close()
    tables = {name for (name,) in rows if not name.startswith(("search_", "sqlite_"))}
    assert tables - TABLES.keys() == {"access_change", "server", "tenant_usage", "upkeep"}


def test_command_copies_and_names_the_next_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "open", store_at)
    state = ["--state-dir", str(tmp_path)]
    assert main(["migrate", *state]) == 1
    assert "--database-url" in capsys.readouterr().err
    assert main(["migrate", *state, "--database-url", url_of(tmp_path)]) == 1
    assert "no conversations to copy" in capsys.readouterr().err
    asyncio.run(filled(tmp_path / "conversations.db"))
    assert main(["migrate", *state, "--database-url", url_of(tmp_path)]) == 0
    said = capsys.readouterr().err
    assert "message: 1,206 of 1,206 rows" in said
    assert "Start the server with --database-url" in said
