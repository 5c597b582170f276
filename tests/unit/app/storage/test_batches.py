"""Imports and removals: short transactions for the other writers, all or nothing for the client."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.storage import imports, removals
from app.storage.answer_prompts import insert_answer_prompt
from app.storage.connection import DatabaseConnection, Parameters
from app.storage.errors import DuplicateError
from app.storage.items import NewItem
from app.storage.removals import Removal, mark
from app.storage.store import Store
from app.tenants.limits import LimitReachedError, TenantLimits
from engine.api.errors import NotFoundError
from tests.unit.stored_chats import answered, imported

LATER = 1e12


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


@pytest.fixture
def transactions(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """Record for each transaction the number of messages that it adds or removes, and whether it waits for the disk."""
    seen = list[tuple[int, bool]]()
    write = store.database.write

    async def counted(work: Callable[[DatabaseConnection], object], *, durable: bool = True) -> object:
        def counting(connection: DatabaseConnection) -> object:
            [[before]] = connection.fetch_all("SELECT count(*) FROM message")
            result = work(connection)
            [[after]] = connection.fetch_all("SELECT count(*) FROM message")
            seen.append((abs(after - before), durable))
            return result

        return await write(counting, durable=durable)

    monkeypatch.setattr(store.database, "write", counted)
    return seen


@pytest.fixture
async def statements(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the statements that change rows, once for each execution."""
    kind: type[Any] = await store.database.write(type)
    seen, execute, execute_many = list[str](), kind.execute, kind.execute_many

    def one(self: DatabaseConnection, sql: str, parameters: Parameters = (), /) -> int:
        seen.append(sql)
        changed: int = execute(self, sql, parameters)
        return changed

    def many(self: DatabaseConnection, sql: str, rows: Iterable[Parameters], /) -> None:
        given = list(rows)
        seen.extend([sql] * len(given))
        execute_many(self, sql, given)

    monkeypatch.setattr(kind, "execute", one)
    monkeypatch.setattr(kind, "execute_many", many)
    return seen


async def count(store: Store, table: str) -> int:
    [row] = await store.database.read(f"SELECT count(*) AS rows FROM {table}")
    return int(row["rows"])


async def test_long_conversation_is_removed_in_batches(store: Store, transactions: list[tuple[int, bool]]) -> None:
    await store.imports.add([imported("conv_1", ["tide"] * 350)], duplicates=False)
    [conversation] = (await store.conversations.page()).conversations
    transactions.clear()
    nodes = await store.deletions.remove_conversation(conversation.id)
    assert (len(nodes), await count(store, "message"), await count(store, "removal")) == (350, 0, 0)
    assert max(changed for changed, _ in transactions) == removals.BATCH_MESSAGES
    assert transactions[0] == (0, True), "the first transaction waits for the disk and makes the removal certain"


async def test_chats_cost_few_transactions_and_statements(
    store: Store, transactions: list[tuple[int, bool]], statements: list[str]
) -> None:
    given = [imported(f"conv_{number}", ["tide"] * 4) for number in range(50)]
    await store.imports.add(given, duplicates=False)
    # A batch writes messages by one statement, PostgreSQL's index by another, and 5 conversations and marks.
    assert len([sql for sql in statements if "INTO message" in sql]) == 10
    assert len([sql for sql in statements if "INTO search_words" in sql]) == (10 if store.database.is_shared else 0)
    assert len([sql for sql in statements if "INTO conversation" in sql or "INTO staged" in sql]) == 2 * 50
    transactions.clear()
    await store.deletions.remove_conversation(given[0].conversation.id)
    assert transactions == [(0, True), (4, False)]


async def test_fork_costs_few_statements(store: Store, statements: list[str]) -> None:
    await store.imports.add([imported("conv_1", ["tide"] * 2000)], duplicates=False)
    [source] = (await store.conversations.page()).conversations
    path = await store.messages.path(source.head_id)
    await store.database.write(lambda each: insert_answer_prompt(each, store.tenant, path[1].id, b"\0" * 400))
    statements.clear()
    fork = await store.tree.fork(source.id, path[-1].id)
    assert len(statements) <= 100
    assert [each.content for each in await store.messages.path(fork.head_id)] == ["tide"] * 2000
    assert await count(store, "answer_prompt") == 2


async def test_branch_is_removed_in_batches_with_nothing_above(
    store: Store, transactions: list[tuple[int, bool]]
) -> None:
    await store.imports.add([imported("conv_1", ["tide"] * 350)], duplicates=False)
    [conversation] = (await store.conversations.page()).conversations
    path = await store.messages.path(conversation.head_id)
    await store.deletions.hide_message(path[10].id)
    transactions.clear()
    removed = await store.deletions.remove_oldest(LATER)
    assert removed is not None
    assert (len(removed.nodes), await count(store, "message")) == (350, 10)
    assert max(changed for changed, _ in transactions) == removals.BATCH_MESSAGES
    assert await store.deletions.remove_oldest(LATER) is None


async def test_begun_removal_is_ended_by_the_next_process(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "conversations.db")
    conversation = await store.conversations.create({})
    question, answer = await answered(store, conversation, "one")
    other, _ = await answered(store, conversation, "two", answer)
    await store.deletions.hide_message(other.id)
    await store.database.write(lambda each: mark(each, Removal(store.tenant, conversation.id, other.id)))
    with pytest.raises(NotFoundError):
        await store.deletions.show_message(other.id)
    await store.close()
    again = await Store.open(tmp_path / "conversations.db")
    assert await again.deletions.remove_oldest(0.0) is not None
    assert await again.deletions.remove_oldest(0.0) is None
    assert [each.id for each in await again.messages.all_of(conversation.id)] == [question.id, answer.id]
    await again.deletions.hide_conversation(conversation.id)
    await again.database.write(lambda each: mark(each, Removal(again.tenant, conversation.id, None)))
    with pytest.raises(NotFoundError):
        await again.deletions.show_conversation(conversation.id)
    assert await again.deletions.remove_oldest(0.0) is not None
    assert await count(again, "conversation") == 0
    await again.close()


async def test_removal_of_a_tenant_leaves_the_others(store: Store) -> None:
    bob = store.of("bob")
    for each in (store, bob):
        await each.imports.add([imported(f"conv_{index}", ["tide"] * 3) for index in range(3)], duplicates=False)
    assert await bob.deletions.remove_all() == 3
    assert (await count(store, "conversation"), await count(store, "message")) == (3, 9)
    assert await bob.deletions.remove_all() == 0


async def test_import_is_written_in_batches_and_shown_at_once(
    store: Store, transactions: list[tuple[int, bool]]
) -> None:
    shown = list[int]()
    file = [imported(f"conv_{index}", ["tide"] * 120) for index in range(5)]
    importing = asyncio.create_task(store.imports.add(file, duplicates=False))
    while not importing.done():
        shown.append(len((await store.conversations.page()).conversations))
    assert set(shown) <= {0, 5}
    assert len(await importing) == 5
    assert max(changed for changed, _ in transactions) <= 2 * imports.BATCH_MESSAGES
    assert transactions[-1][1], "the last transaction waits for the disk"
    assert (await count(store, "message"), await count(store, "staged")) == (600, 0)


async def test_large_messages_make_small_batches(store: Store, transactions: list[tuple[int, bool]]) -> None:
    await store.imports.add([imported("conv_1", ["tide " * 40_000] * 8)], duplicates=False)
    assert max(changed for changed, _ in transactions) <= 2


async def test_import_that_fails_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.storage.imports.BATCH_MESSAGES", 10)
    file = [imported(f"conv_{index}", ["tide"] * 30) for index in range(3)]
    # The last conversation repeats a message of the first one, under its id.
    file[2] = replace(file[2], messages=[*file[2].messages[:29], file[0].messages[0]])
    with pytest.raises(DuplicateError):
        await store.imports.add(file, duplicates=False)
    assert (await store.conversations.page()).conversations == []
    assert await store.search.messages("tide", limit=5) == []
    while await store.deletions.remove_oldest(0.0):
        pass
    assert [await count(store, table) for table in ("conversation", "message", "staged", "searchable")] == [0] * 4


async def test_import_cut_by_the_end_of_its_process_is_removed(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "conversations.db")
    await store.imports.add([imported("conv_1", ["tide"] * 3)], duplicates=False)
    [conversation] = (await store.conversations.page()).conversations

    def as_while_importing(connection: DatabaseConnection) -> None:
        connection.execute("UPDATE conversation SET deleted_at = 1.0")
        connection.execute("INSERT INTO staged(conversation_id, import_id) VALUES (?, 'import')", (conversation.id,))

    await store.database.write(as_while_importing)
    assert await store.deletions.remove_oldest(LATER) is None, "an import that is being written is not deleted"
    with pytest.raises(NotFoundError):
        await store.deletions.show_conversation(conversation.id)
    await store.close()
    again = await Store.open(tmp_path / "conversations.db")
    await again.imports.discard_former()
    assert await again.deletions.remove_oldest(0.0) is not None
    assert await count(again, "message") == 0
    await again.close()


async def test_two_imports_of_one_file_at_once_add_it_once(store: Store) -> None:
    files = [[imported("conv_1", ["tide"] * 300)], [imported("conv_1", ["tide"] * 300)]]
    taken = await asyncio.gather(*(store.imports.add(file, duplicates=False) for file in files))
    assert sorted(map(len, taken)) == [0, 1]
    assert len((await store.conversations.page()).conversations) == 1
    assert await store.deletions.remove_oldest(0.0) is not None


async def test_import_beyond_the_limit_is_refused_as_a_whole(store: Store) -> None:
    await store.limits.set(store.tenant, TenantLimits(conversations=2))
    file = [imported(f"conv_{index}", ["tide"]) for index in range(3)]
    with pytest.raises(LimitReachedError):
        await store.imports.add(file, duplicates=False)
    assert await count(store, "conversation") == 0


async def test_deleted_conversation_takes_no_items(store: Store) -> None:
    conversation = await store.conversations.create({"source": "api"})
    [item] = await store.items.add(conversation.id, [NewItem("user", "one")])
    await store.deletions.hide_conversation(conversation.id)
    with pytest.raises(NotFoundError):
        await store.items.add(conversation.id, [NewItem("user", "two")])
    with pytest.raises(NotFoundError):
        await store.items.remove(conversation.id, item.id)
    await store.deletions.show_conversation(conversation.id)
    assert [each.content for each in await store.messages.all_of(conversation.id)] == ["one"]
