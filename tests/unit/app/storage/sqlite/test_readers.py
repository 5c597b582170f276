"""Reads of the database: no tenant's read, search or write holds up another's, and none takes longer than its limit."""

import asyncio
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from app.domain.records import Message
from app.storage import readers as module
from app.storage import search_times, search_walk
from app.storage.connection import DatabaseConnection, Parameters, Row
from app.storage.database import Database
from app.storage.errors import ReadTimeoutError
from app.storage.rows import listed, message_of, shown_among
from app.storage.search import BEYOND_ALL, SearchStore, SearchTooSlowError
from app.storage.search_filter import ANYTHING, SearchFilter
from app.storage.search_rows import SearchRows
from app.storage.search_walk import newest
from app.storage.sqlite import text_index
from app.storage.sqlite.connection import SqliteConnection
from app.storage.sqlite.database import SEARCHERS, SqliteDatabase
from app.storage.sqlite.readers import SqliteReaders
from app.storage.store import Store
from tests.sizes import Size
from tests.unit.stored_chats import answered, imported

BUSY_SECONDS = 5.0
"""For which SQLite waits by default here."""

MOST_STEP_SECONDS = 0.08
"""CPU time of a transaction of a purge."""

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    store = await Store.open(tmp_path / "conversations.db")
    yield store
    await store.close()


def endless(connection: DatabaseConnection) -> object:
    return connection.fetch_all(ENDLESS)


async def test_read_over_its_time_is_interrupted(tmp_path: Path) -> None:
    readers = SqliteReaders.open(tmp_path / "file.db", 1, most_of_one=1)
    with pytest.raises(ReadTimeoutError, match=r"longer than 0\.05 s"):
        await readers.run(endless, tenant="alice", seconds=0.05)
    rows = await readers.run(lambda each: each.fetch_all("SELECT 1"), tenant="alice", seconds=5)
    assert [tuple(row) for row in rows] == [(1,)]
    await readers.close()


async def test_cancelled_read_gives_its_connection_back(tmp_path: Path) -> None:
    readers = SqliteReaders.open(tmp_path / "file.db", 1, most_of_one=1)
    began = threading.Event()

    def work(connection: DatabaseConnection) -> object:
        began.set()
        return endless(connection)

    reading = asyncio.create_task(readers.run(work, tenant="alice", seconds=600))
    waiting = asyncio.create_task(readers.run(endless, tenant="alice", seconds=600))
    assert await asyncio.to_thread(began.wait, 10)
    waiting.cancel()
    reading.cancel()
    await asyncio.wait([reading, waiting])
    assert await readers.run(lambda _: "read", tenant="bob", seconds=5) == "read"
    await readers.close()


async def test_reads_that_hang_are_given_up_and_others_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STUCK_SECONDS", 0.01)
    readers = SqliteReaders.open(tmp_path / "file.db", 1, most_of_one=1)
    go = threading.Event()
    with pytest.raises(ReadTimeoutError, match="does not answer"):
        await readers.run(lambda _: go.wait(20), tenant="alice", seconds=0.01)
    with pytest.raises(ReadTimeoutError, match="does not answer"):
        await readers.run(lambda _: "read", tenant="bob", seconds=20)
    [running] = readers._stuck
    go.set()
    await running
    assert await readers.run(lambda _: "read", tenant="bob", seconds=20) == "read"
    await readers.close()


async def test_tenant_leaves_connections_to_the_others(tmp_path: Path) -> None:
    readers = SqliteReaders.open(tmp_path / "file.db", 2, most_of_one=1)
    go = threading.Event()
    held = [asyncio.create_task(readers.run(lambda _: go.wait(20), tenant="alice", seconds=20)) for _ in range(50)]
    assert await readers.run(lambda _: "read", tenant="bob", seconds=5) == "read"
    go.set()
    assert all(await asyncio.gather(*held))
    await readers.close()


async def test_longest_waiting_tenant_with_fewest_leases_is_next(tmp_path: Path) -> None:
    readers = SqliteReaders.open(tmp_path / "file.db", 1, most_of_one=1)
    order, go = list[str](), threading.Event()

    async def read(tenant: str) -> None:
        await readers.run(lambda _: order.append(tenant), tenant=tenant, seconds=5)

    first = asyncio.create_task(readers.run(lambda _: go.wait(20), tenant="alice", seconds=20))
    await asyncio.sleep(0)
    rest = [asyncio.create_task(read(tenant)) for tenant in ("alice", "bob", "carol")]
    await asyncio.sleep(0)
    go.set()
    await asyncio.gather(first, *rest)
    assert sorted(order) == ["alice", "bob", "carol"]
    await readers.close()


async def test_keys_are_read_while_every_other_reader_is_held(store: Store) -> None:
    go = threading.Event()
    database = store.database
    assert isinstance(database, SqliteDatabase)
    held = [
        asyncio.create_task(database.search(lambda _: go.wait(20), tenant=str(index))) for index in range(SEARCHERS)
    ]
    held += [
        asyncio.create_task(database._pools.reads.run(lambda _: go.wait(20), tenant=str(index), seconds=20))
        for index in range(8)
    ]
    assert await store.keys.all() == []
    go.set()
    await asyncio.gather(*held)


async def test_search_over_its_time_is_refused_with_words(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.imports.add([imported("conv_1", ["tide"])], duplicates=False)
    monkeypatch.setattr("app.storage.sqlite.text_index.NEWEST", f"{ENDLESS} WHERE ? + ? + ?")
    with pytest.raises(SearchTooSlowError, match="rarer or longer words") as caught:
        await SearchStore(store.database, store.tenant, seconds=0.05).messages("tide", limit=5)
    assert (caught.value.status, caught.value.param) == (422, "q")


async def test_repetitive_message_is_searched_in_linear_steps(store: Store) -> None:
    """One message of 51,200 times the same word took a search 15 seconds."""
    await store.imports.add([imported("conv_1", ["zz " * 51_200])], duplicates=False)
    [found] = await store.search.messages("zz", limit=20)
    assert found.snippet.text.startswith("zz zz")
    words = " ".join(["zz"] * 60)
    assert len(await store.search.messages(words, limit=20)) == 1


async def test_text_beyond_the_indexed_part_is_not_found(store: Store) -> None:
    await store.imports.add([imported("conv_1", ["x" + " " * 262_137 + "inside outside"])], duplicates=False)
    assert len(await store.search.messages("inside", limit=5)) == 1
    assert await store.search.messages("outside", limit=5) == []


def bytes_below(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.iterdir())


async def search_steps(
    database: Database, tenant: str, query: str, within: SearchFilter = ANYTHING, limit: int = 20
) -> int:
    """Count the steps of SQLite's machine that a search takes."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    def find(connection: DatabaseConnection) -> None:
        assert isinstance(connection, SqliteConnection)
        connection.raw.set_progress_handler(count, 10)
        rows = SearchRows(connection, "message", tenant, "chat", within)
        assert not newest(database.text_index, query, rows, BEYOND_ALL, limit)
        connection.raw.set_progress_handler(None, 0)

    await database.search(find, tenant=tenant, seconds=600)
    return steps


async def test_search_reads_no_other_tenants_messages(store: Store, size: Size) -> None:
    bob = store.of("bob")
    await bob.imports.add([imported("conv_bob", ["storm"] * 20)], duplicates=False)
    each = size.pick(small=300, full=20_000)
    steps = list[int]()
    for number in range(3):
        texts = ["the tide is high " + "word " * size.pick(small=10, full=160)] * each
        await store.imports.add([imported(f"conv_{number}", texts)], duplicates=False)
        steps.append(await search_steps(store.database, "bob", "tide "))
    assert await bob.search.messages("tide ", limit=5) == []
    assert steps[-1] <= steps[0] + 200, steps


@pytest.mark.parametrize("within", [SearchFilter(archived=True), SearchFilter(tag="none"), SearchFilter(folder_id="f")])
async def test_filter_that_no_chat_meets_reads_few_messages(
    store: Store, monkeypatch: pytest.MonkeyPatch, within: SearchFilter
) -> None:
    monkeypatch.setattr(search_walk, "MANY", 20)
    steps = list[int]()
    for number in range(2):
        await store.imports.add([imported(f"conv_{number}", ["the tide is high"] * 400)], duplicates=False)
        steps.append(await search_steps(store.database, store.tenant, "tide ", within, 1))
    assert steps[-1] < 1.2 * steps[0], steps


async def test_search_in_other_period_reads_few_messages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_times, "BLOCK", 16)
    steps = list[int]()
    for number in range(2):
        await store.imports.add([imported(f"conv_{number}", ["the tide is high"] * 640)], duplicates=False)
        while await store.upkeep.note_times():
            pass
        steps.append(await search_steps(store.database, store.tenant, "tide ", SearchFilter(since=1e6)))
    assert steps[-1] < 1.2 * steps[0], steps


async def test_chats_with_newer_messages_alone_are_not_all_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_walk, "MANY", 1)
    await store.imports.add([imported("conv_1", ["the tide is high"] * 40)], duplicates=False)
    steps = list[int]()
    for number in range(2):
        await store.imports.add([imported(f"conv_new_{number}", ["a storm"] * 400)], duplicates=False)
        steps.append(await search_steps(store.database, store.tenant, "tide ", SearchFilter(since=1e6)))
    assert steps[-1] < 1.2 * steps[0], steps


async def test_numbers_given_again_are_searched_in_the_new_period(store: Store) -> None:
    def give(number: int) -> Callable[[DatabaseConnection], int]:
        return lambda connection: connection.execute(
            "INSERT INTO searchable(number, conversation_id) VALUES (?, 'none')", (number,)
        )

    def take(connection: DatabaseConnection) -> int:
        return connection.execute("DELETE FROM searchable WHERE conversation_id = 'none'")

    beyond = search_times.BLOCK * (search_times.BRIDGED + 1)
    first = await store.imports.add([imported("conv_1", ["the tide is high"])], duplicates=False)
    await store.database.write(give(beyond))
    while await store.upkeep.note_times():
        pass
    assert not await store.search.messages("tide", limit=5, within=SearchFilter(since=5.0))
    await store.database.write(take)
    await store.deletions.remove_conversation(first["conv_1"])
    await store.imports.add([imported("conv_2", [*["storm"] * 6, "the tide is low"])], duplicates=False)
    await store.database.write(give(beyond))
    [found] = await store.search.messages("tide", limit=5, within=SearchFilter(since=5.0))
    assert found.snippet.text == "the tide is low"


async def test_list_reads_no_conversations_of_the_api(store: Store) -> None:
    for _ in range(3):
        await store.conversations.create({"source": "api"})
    made = await store.conversations.create({"title": "Chat"})
    await store.conversations.create({"source": "api"})
    [row] = await store.database.read(
        "EXPLAIN QUERY PLAN SELECT * FROM shown_conversation WHERE tenant = ? AND source = 'chat' AND archived = ? "
        "AND (pinned, updated_at, id) < (?, ?, ?) ORDER BY pinned DESC, updated_at DESC, id DESC LIMIT 5",
        (store.tenant, 0, 1, 1e12, "z"),
    )
    assert "USING INDEX conversation_list" in row["detail"]
    assert [each.id for each in (await store.conversations.page(limit=5)).conversations] == [made.id]


async def test_many_messages_are_read_by_their_ids(store: Store) -> None:
    plan = await store.database.read(
        f"EXPLAIN QUERY PLAN SELECT shown_message.* FROM {shown_among(store.database.dialect)} WHERE tenant = ?",
        (listed([str(number) for number in range(256)]), store.tenant),
    )
    assert "SEARCH message USING INDEX sqlite_autoindex_message_1 (id=?)" in plan[1]["detail"]


async def test_removed_text_leaves_the_log_after_its_reader(tmp_path: Path) -> None:
    path = tmp_path / "conversations.db"
    log = path.with_name("conversations.db-wal")
    store = await Store.open(path)
    await store.imports.add([imported("conv_1", ["xylophonicum", *["some words"] * 50])], duplicates=False)
    [found] = await store.search.messages("xylophonicum", limit=5)
    with closing(sqlite3.connect(path)) as reader:
        reader.executescript("BEGIN; SELECT count(*) FROM message;")
        await store.deletions.remove_conversation(found.conversation_id)
        assert await store.upkeep.purge()
        began = time.monotonic()
        await store.upkeep.erase_history()
        assert time.monotonic() - began < BUSY_SECONDS, "a writer would have waited for the reader"
        assert log.stat().st_size
    await store.upkeep.erase_history()
    size = log.stat().st_size
    await store.close()
    assert size < 100_000, "removed text is still in the log"


@pytest.mark.parametrize("rebuilt_rows", [0, text_index.REBUILT_ROWS])
async def test_removed_words_leave_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rebuilt_rows: int) -> None:
    monkeypatch.setattr(text_index, "REBUILT_ROWS", rebuilt_rows)
    path = tmp_path / "conversations.db"
    store = await Store.open(path)
    secret = "xylophonicum quetzalcoatlus"
    kept = [f"some words of message {index}" for index in range(200)]
    await store.imports.add([imported("conv_1", kept), imported("conv_2", [secret, *kept])], duplicates=False)
    [found] = await store.search.messages("xylophonicum", limit=5)
    await store.conversations.change(found.conversation_id, {"title": secret})
    await store.deletions.remove_conversation(found.conversation_id)
    assert await store.upkeep.purge()
    assert not await store.upkeep.purge(), "a second purge must find nothing"
    await store.upkeep.erase_history()
    stored = await asyncio.to_thread(bytes_below, tmp_path)
    assert b"some words" in stored
    for word in secret.split():
        # The index keeps only the end of a word that begins like the one before it.
        assert word[3:].encode() not in stored
    assert len(await store.search.messages("words", limit=50)) == 50
    await store.database.write(
        lambda connection: connection.execute("INSERT INTO search_words(search_words) VALUES ('integrity-check')")
    )
    await store.close()


async def test_page_of_path_reads_its_own_messages_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.imports.add([imported("conv_1", [f"text {number}" for number in range(60)])], duplicates=False)
    [conversation] = (await store.conversations.page()).conversations
    path = await store.messages.path(conversation.head_id)
    made = list[Message]()

    def counted(row: Row) -> Message:
        made.append(message_of(row))
        return made[-1]

    monkeypatch.setattr("app.storage.messages.message_of", counted)
    for newest_first, since, first, length in (
        (True, None, 55, 5),
        (False, None, 0, 5),
        (True, 30, 26, 5),
        (False, 30, 30, 5),
        (True, 2, 0, 3),
        (False, 58, 58, 2),
    ):
        made.clear()
        part = await store.messages.path_part(
            conversation.id,
            conversation.head_id,
            since=path[since].id if since is not None else None,
            newest_first=newest_first,
            most=5,
        )
        assert part == path[first : first + length]
        assert len(made) == length


async def test_page_after_message_of_another_branch_stays_on_it(store: Store) -> None:
    texts = [f"text {number}" for number in range(10)]
    await store.imports.add([imported("conv_1", texts), imported("conv_2", texts, title="Other")], duplicates=False)
    both = {each.title: each for each in (await store.conversations.page()).conversations}
    other = both.pop("Other")
    [conversation] = both.values()
    path = await store.messages.path(conversation.head_id)
    sibling, answer = await answered(store, conversation, "beside", path[3])

    async def part(head: str | None, since: str | None, *, newest_first: bool, most: int = 20) -> list[str]:
        found = await store.messages.path_part(conversation.id, head, since=since, newest_first=newest_first, most=most)
        return [message.id for message in found]

    ids = [message.id for message in path]
    for since, head, below in ((ids[5], answer.id, ids[5:]), (sibling.id, ids[-1], [sibling.id, answer.id])):
        assert await part(head, since, newest_first=False) == below
    assert await part(ids[-1], sibling.id, newest_first=True, most=3) == [*ids[2:4], sibling.id]
    for head, whole in ((ids[-1], ids), (answer.id, [*ids[:4], sibling.id, answer.id])):
        assert await part(head, None, newest_first=False) == whole
        assert await part(head, ids[1], newest_first=False) == whole[1:]
        assert await part(head, ids[3], newest_first=False, most=2) == whole[3:5]
        assert await store.messages.on_path(head, ids[2]) == path[2]
    assert await store.messages.on_path(ids[-1], sibling.id) is None
    assert other.head_id is not None
    for unseen in (other.head_id, "msg_none"):
        assert not await part(ids[-1], unseen, newest_first=True)
        assert not await part(ids[-1], unseen, newest_first=False)


async def test_page_of_path_takes_steps_for_itself_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for source, length in (("short", 20), ("long", 600)):
        await store.imports.add([imported(source, ["text"] * length, title=source)], duplicates=False)
    taken = 0

    def step() -> None:
        nonlocal taken
        taken += 1

    async def counted(sql: str, parameters: Parameters, *, tenant: str) -> list[Row]:
        def read(connection: DatabaseConnection) -> list[Row]:
            assert isinstance(connection, SqliteConnection)
            # Preparing the statement for the first time reads the schema.
            connection.fetch_all(sql, parameters)
            connection.raw.set_progress_handler(step, 1)
            rows = connection.fetch_all(sql, parameters)
            connection.raw.set_progress_handler(None, 0)
            return rows

        return await store.database.search(read, tenant=tenant)

    conversations = (await store.conversations.page()).conversations
    paths = [await store.messages.path(each.head_id) for each in conversations]
    monkeypatch.setattr(store.database, "read", counted)
    for newest_first, since in ((True, None), (True, 10), (False, None), (False, 10)):
        steps = list[int]()
        for conversation, path in zip(conversations, paths, strict=True):
            taken, first = 0, path[since].id if since is not None else None
            part = await store.messages.path_part(
                conversation.id, conversation.head_id, since=first, newest_first=newest_first, most=5
            )
            assert len(part) == 5
            steps.append(taken)
        assert max(steps) < 1.1 * min(steps), (newest_first, since)


@pytest.mark.parametrize("share_left", [0.0, 0.25])
async def test_purge_of_most_words_holds_no_writer_for_long(store: Store, size: Size, share_left: float) -> None:
    rows = size.pick(small=2000, full=20_000)
    index, left = store.database.text_index, round(rows * share_left)

    def fill(connection: DatabaseConnection) -> None:
        content = [" ".join(f"word{(7919 * n + 101 * m) % 20_000}" for m in range(60)) for n in range(1000)]
        connection.execute_many(
            "INSERT INTO search_words(rowid, tenant, content) VALUES (?, 't', ?)",
            [(number, content[number % 1000]) for number in range(rows)],
        )

    await store.database.write(fill, durable=False)

    def remove(connection: DatabaseConnection) -> None:
        connection.execute("DELETE FROM search_words WHERE rowid >= ?", (left,))
        connection.execute("INSERT INTO upkeep(task) VALUES ('purge')")

    await store.database.write(remove, durable=False)
    seconds = list[float]()

    def timed(step: Callable[[DatabaseConnection], bool], connection: DatabaseConnection) -> bool:
        began = time.thread_time()
        continues = step(connection)
        seconds.append(time.thread_time() - began)
        return continues

    assert await store.database.write(partial(timed, index.begin_purge))
    while await store.database.write(partial(timed, index.purge_some)):
        pass
    print(f"longest of {len(seconds)}: {max(seconds) * 1000:.0f} ms")
    assert max(seconds) < MOST_STEP_SECONDS
    [row] = await store.database.read("SELECT count(*) AS n FROM search_words WHERE search_words MATCH 't'")
    assert row["n"] == left
