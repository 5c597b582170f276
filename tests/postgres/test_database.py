"""The database in PostgreSQL: one server at a time, lost connections, and limits of reads."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from app.config.settings import load_settings
from app.doctor.checks import check_conversations
from app.domain.storage_health import SchemaChangedError, StorageUnavailableError
from app.runs.storage_probe import StorageProbe
from app.storage import rows as rows_module
from app.storage import search_words
from app.storage.connection import DatabaseConnection
from app.storage.errors import DuplicateError, MissingReferenceError, ReadTimeoutError, UnusableDatabaseError
from app.storage.postgres import database as module
from app.storage.postgres import text_index
from app.storage.postgres.database import PostgresDatabase
from app.storage.postgres.own_schema import SCHEMA
from app.storage.store import Store
from tests.on_postgres import SERVER, schema_of, url_of
from tests.unit.stored_chats import answered


@pytest.fixture
def url(tmp_path: Path) -> str:
    return url_of(tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    store = await Store.open_postgres(url)
    yield store
    await store.close()


def end_connections(schema: str) -> None:
    """End all connections to a schema, as a restart of PostgreSQL does."""
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
            (schema,),
        )


@pytest.mark.parametrize("serves", [True, False])
async def test_servers_and_commands_share_a_database(store: Store, url: str, serves: bool) -> None:
    await store.conversations.create({"title": "Tides"})
    other = await Store.open_postgres(url, serves=serves)
    assert [each.title for each in (await other.conversations.page()).conversations] == ["Tides"]
    await other.close()


async def test_settings_of_the_operator_change_no_answer(url: str) -> None:
    given = conninfo_to_dict(url)
    settings = ("default_transaction_isolation=serializable", "statement_timeout=100", "idle_session_timeout=100")
    options = " -c ".join([str(given.get("options", "")), *settings])
    store = await Store.open_postgres(make_conninfo(url, options=options, client_encoding="LATIN1"))
    level = await store.database.read("SELECT current_setting('transaction_isolation') AS level")
    assert level[0]["level"] == "read committed"
    await store.database.write(lambda connection: connection.fetch_all("SELECT pg_sleep(0.2)"))
    await store.conversations.create({"title": "日本"})
    assert [each.title for each in (await store.conversations.page()).conversations] == ["日本"]
    await store.close()


async def test_servers_that_start_at_once_make_one_database(url: str) -> None:
    stores = await asyncio.gather(*(Store.open_postgres(url) for _ in range(6)))
    await stores[0].conversations.create({"title": "Tides"})
    for store in stores:
        assert [each.title for each in (await store.conversations.page()).conversations] == ["Tides"]
        await store.close()


async def test_copy_into_a_database_in_use_is_refused(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ALONE", ("SET lock_timeout = '100ms'", module.ALONE[-1]))
    with pytest.raises(UnusableDatabaseError, match="servers of another version"):
        await PostgresDatabase.open(url, for_copy=True)


async def test_transactions_of_two_servers_run_one_after_the_other(store: Store, url: str) -> None:
    other = await Store.open_postgres(url)

    def add(connection: DatabaseConnection) -> int:
        [[newest]] = connection.fetch_all("SELECT newest FROM server_clock")
        connection.execute("UPDATE server_clock SET newest = ?", (newest + 1,))
        return int(newest)

    numbers = await asyncio.gather(*(each.database.write(add) for each in (store, other) for _ in range(50)))
    assert sorted(numbers) == list(range(100))
    await other.close()


async def test_frozen_transaction_gives_its_lock_back(store: Store, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SERVER", ("SET idle_in_transaction_session_timeout = '100ms'",))
    frozen = await Store.open_postgres(url)
    began, released = threading.Event(), threading.Event()

    def freeze(connection: DatabaseConnection) -> None:
        connection.execute("DELETE FROM preset")
        began.set()
        released.wait(20)
        connection.execute("DELETE FROM folder")

    held = asyncio.create_task(frozen.database.write(freeze))
    await asyncio.to_thread(began.wait, 20)
    await store.conversations.create({"title": "Tides"})
    released.set()
    with pytest.raises(StorageUnavailableError):
        await held
    await frozen.database.probe()
    await frozen.close()


async def test_writes_work_again_after_a_lock_came_too_late(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SERVER", ("SET lock_timeout = '50ms'",))
    store = await Store.open_postgres(url)
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(module.BEGIN.encode())
        with pytest.raises(StorageUnavailableError):
            await store.database.probe()
        reason = store.database.health.reason
        assert reason is not None
        other.execute("ROLLBACK")
    await store.conversations.create({"title": "Tides"})
    assert store.database.health.reason is None
    await store.close()


async def test_lost_connections_are_made_again_unnoticed(store: Store, tmp_path: Path) -> None:
    await store.conversations.create({"title": "Tides"})
    end_connections(schema_of(tmp_path))
    for _ in range(8):
        await store.conversations.page()
    await store.conversations.create({"title": "Gulls"})
    titles = [each.title for each in (await store.conversations.page()).conversations]
    assert titles == ["Gulls", "Tides"]
    assert store.database.health.reason is None


async def test_unreachable_database_is_named_without_its_password() -> None:
    with pytest.raises(UnusableDatabaseError) as refused:
        await Store.open_postgres("postgresql://ebb:hidden@127.0.0.1:1/chats")
    assert "127.0.0.1/chats" in str(refused.value)
    assert "hidden" not in str(refused.value)


async def test_read_over_its_limit_is_ended(store: Store) -> None:
    def slow(connection: object) -> object:
        return connection.fetch_all("SELECT pg_sleep(60)")  # type: ignore[attr-defined]

    with pytest.raises(ReadTimeoutError):
        await store.database.search(slow, tenant="local", seconds=0.2)
    assert await store.search.messages("tide", limit=5) == []


async def test_constraints_have_their_own_errors(store: Store) -> None:
    database = store.database
    insert = "INSERT INTO next_prefix(message_id, token_ids) VALUES (?, ?)"
    with pytest.raises(MissingReferenceError):
        await database.write(lambda connection: connection.execute(insert, ("msg_none", b"")))
    conversation = await store.conversations.create({})
    _, answer = await answered(store, conversation, "one")
    await database.write(lambda connection: connection.execute(insert, (answer.id, b"")))
    with pytest.raises(DuplicateError):
        await database.write(lambda connection: connection.execute(insert, (answer.id, b"")))


async def test_nul_and_percent_signs_are_stored_and_found(store: Store) -> None:
    conversation = await store.conversations.create({"title": "100 % wind? :sure"})
    question, _ = await answered(store, conversation, "a\0b tide % ? :name")
    assert (await store.messages.get(question.id)).content == "a\N{REPLACEMENT CHARACTER}b tide % ? :name"
    assert len(await store.search.titles("wind", limit=5)) == 1
    assert len(await store.search.messages("tide", limit=5)) == 1


async def test_cancelled_transaction_still_ends(store: Store) -> None:
    task = asyncio.create_task(store.conversations.create({"title": "Tides"}))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.conversations.create({"title": "Gulls"})
    assert len((await store.conversations.page()).conversations) == 2


@pytest.mark.parametrize(
    ("statement", "level", "says"),
    [
        ("UPDATE ebb_schema SET version = version + 1", "fail", "later version of Ebb"),
        ("CREATE TABLE ebb_copy(name TEXT)", "fail", "incomplete copy of a file"),
        ("UPDATE ebb_schema SET version = version - 1", "warn", "the start upgrades it"),
        ("UPDATE ebb_schema SET version = version", "ok", "answers"),
        ("DROP TABLE ebb_schema", "ok", "answers"),
    ],
)
async def test_doctor_says_what_the_start_will(url: str, statement: str, level: str, says: str) -> None:
    await (await PostgresDatabase.open(url)).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())
    settings = load_settings({}, environ={"EBB_DATABASE_URL": url})
    finding = await asyncio.to_thread(check_conversations, settings)
    assert (finding.level, says in finding.text) == (level, True), finding
    if level == "fail":
        with pytest.raises(UnusableDatabaseError) as refused:
            await PostgresDatabase.open(url)
        assert str(refused.value) == finding.text


async def test_earlier_version_refuses_a_later_schema(url: str) -> None:
    database = await PostgresDatabase.open(url)
    await database.write(lambda connection: connection.execute("UPDATE ebb_schema SET version = version + 1"))
    await database.close()
    with pytest.raises(UnusableDatabaseError, match="later version"):
        await PostgresDatabase.open(url)


@pytest.mark.parametrize(
    "change", ["UPDATE ebb_schema SET version = version + 1", "DROP TABLE ebb_schema", "CREATE TABLE ebb_copy(a TEXT)"]
)
async def test_lost_connection_finds_the_schema_of_another_version(
    store: Store, url: str, tmp_path: Path, change: str
) -> None:
    probe = StorageProbe(store.database, seconds=0.01)
    probe.begin()
    end_connections(schema_of(tmp_path))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(change.encode())
    with pytest.raises(SchemaChangedError):
        await store.conversations.create({"title": "Tides"})
    async with asyncio.timeout(20):
        await probe.lost.wait()
    await probe.stop()


async def test_connection_lost_within_a_transaction_is_an_outage(store: Store, tmp_path: Path) -> None:
    def cut(connection: DatabaseConnection) -> None:
        connection.execute("DELETE FROM preset")
        end_connections(schema_of(tmp_path))
        connection.execute("DELETE FROM folder")

    with pytest.raises(StorageUnavailableError):
        await store.database.write(cut)
    assert store.database.health.reason is not None
    await store.database.probe()
    assert store.database.health.reason is None


async def test_transaction_with_much_to_index_is_not_ended(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = (await store.conversations.create({})).id
    find = search_words.segmented

    def find_slowly(text: str) -> str:
        time.sleep(0.1)
        return find(text)

    def write(connection: DatabaseConnection) -> None:
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = '500ms'")
        for number in range(10):
            connection.execute(
                "INSERT INTO message(id, conversation_id, role, content, status, created_at, token_ids, prompt_key, "
                "starts_prompt) VALUES (?, ?, 'user', ?, 'complete', 1, '', '', FALSE)",
                (f"msg_{number}", chat, "wave " * (rows_module.CHARACTERS // 5 + 1)),
            )

    monkeypatch.setattr(text_index, "segmented", find_slowly)
    await store.database.write(write)
    assert len(await store.database.read("SELECT 1 FROM message WHERE id LIKE 'msg__'")) == 10


async def test_search_index_is_built_after_an_upgrade(url: str) -> None:
    names = sorted(SCHEMA.glob("*.sql"))
    scripts = names[: names.index(SCHEMA / "0017-search-words.sql")]
    with psycopg.connect(url) as connection:
        for script in scripts:
            connection.execute(script.read_bytes())
        connection.execute("CREATE TABLE ebb_schema(version INTEGER NOT NULL)")
        connection.execute("INSERT INTO ebb_schema(version) VALUES (%s)", (len(scripts),))
        connection.execute(
            "INSERT INTO conversation(id, title, params, created_at, updated_at) "
            "VALUES ('conv_1', 'Straße', '{}', 1, 1)"
        )
        connection.execute(
            "INSERT INTO message(id, conversation_id, role, content, status, created_at, token_ids, "
            "prompt_key, starts_prompt) "
            "SELECT 'msg_' || number, 'conv_1', 'user', 'Straße ' || number, 'complete', number, '', '', FALSE "
            "FROM generate_series(1, 300) AS number"
        )
    store = await Store.open_postgres(url)
    other = await Store.open_postgres(url)
    assert (await store.upkeep.progress()).left == 301
    await asyncio.gather(store.upkeep.index_all(), other.upkeep.index_all())
    assert len(await store.search.titles("strasse", limit=5)) == 1
    found = await store.search.messages("strasse", limit=400)
    assert len(found) == 300
    assert found[0].id == "msg_300"
    assert (await store.upkeep.progress()).left == 0
    await other.close()
    await store.close()
