"""The database in PostgreSQL: one server at a time, lost connections, and limits of reads."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from app.domain.storage_health import StorageUnavailableError
from app.storage.connection import Connection
from app.storage.errors import DuplicateError, MissingReferenceError, ReadTimeoutError, UnusableDatabaseError
from app.storage.postgres import database as module
from app.storage.postgres.database import PostgresDatabase
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


async def test_second_server_is_refused_and_a_command_is_not(
    store: Store, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.conversations.create({"title": "Tides"})
    monkeypatch.setattr(module, "SERVER_LOCK", ("SET lock_timeout = '100ms'", *module.SERVER_LOCK[1:]))
    with pytest.raises(UnusableDatabaseError, match="another server uses it"):
        await Store.open_postgres(url)
    beside = await Store.open_postgres(url, exclusive=False)
    assert [each.title for each in (await beside.conversations.page()).conversations] == ["Tides"]
    await beside.close()


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


async def test_constraints_have_errors_of_their_own(store: Store) -> None:
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


async def test_earlier_version_refuses_a_later_schema(url: str) -> None:
    database = await PostgresDatabase.open(url)
    await database.write(lambda connection: connection.execute("UPDATE ebb_schema SET version = version + 1"))
    await database.close()
    with pytest.raises(UnusableDatabaseError, match="later version"):
        await PostgresDatabase.open(url)


async def test_connection_lost_within_a_transaction_is_an_outage(store: Store, tmp_path: Path) -> None:
    def cut(connection: Connection) -> None:
        connection.execute("DELETE FROM preset")
        end_connections(schema_of(tmp_path))
        connection.execute("DELETE FROM folder")

    with pytest.raises(StorageUnavailableError):
        await store.database.write(cut)
    assert store.database.health.reason is not None
    await store.database.probe()
    assert store.database.health.reason is None
