"""Changes of the row of a tenant's stored bytes in PostgreSQL, each of which passes over all earlier ones."""

from collections.abc import Callable

import pytest

from app.storage.answer_prompts import insert_answer_prompt
from app.storage.connection import DatabaseConnection
from app.storage.store import Store
from tests.many_chats import add_long_chat

MESSAGES = 1000
MOST_CHANGES = MESSAGES // 10

CHANGES = (
    "SELECT pg_stat_get_xact_tuples_updated(CAST('tenant_usage' AS regclass)) AS changes, "
    "length(current_setting('ebb.written', TRUE)) AS noted"
)


async def test_fork_changes_stored_bytes_once_for_many_messages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    chat, messages = await add_long_chat(store, MESSAGES)

    def give_prompts(connection: DatabaseConnection) -> None:
        for each in messages[1::2]:
            insert_answer_prompt(connection, store.tenant, each, b"\0" * 4)

    await store.database.write(give_prompts)
    write, changes = store.database.write, list[int]()

    async def counted(work: Callable[[DatabaseConnection], object]) -> object:
        def counting(connection: DatabaseConnection) -> object:
            # Counts of earlier transactions are kept for a second.
            [before] = connection.fetch_all(CHANGES)
            result = work(connection)
            [after] = connection.fetch_all(CHANGES)
            changes.append(after["changes"] - before["changes"])
            assert after["noted"] >= MESSAGES
            return result

        return await write(counting)

    monkeypatch.setattr(store.database, "write", counted)
    fork = await store.tree.fork(chat, messages[-1])
    assert len(await store.messages.all_of(fork.id)) == MESSAGES
    assert len(changes) == 1
    assert changes[0] <= MOST_CHANGES
