"""Removal of stored responses, by their clients and by age: the real store, an engine without a model."""

import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from app.apis.responses.schema import ResponseRequest
from app.conversations.deletions import DAY, UNDO_SECONDS
from app.domain.response_record import message_id_of, response_id_of
from app.schemas.conversations import RetryFields
from app.schemas.parsing import parse_object
from app.services import Services
from app.storage import path_ends
from app.storage.connection import DatabaseConnection
from app.storage.path_ends import mark_path_end
from app.storage.responses import oldest_expiring, with_input
from app.storage.sqlite.database import SqliteDatabase
from engine.api.errors import NotFoundError
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from tests.unit.app.conversations.test_deletions import serving

LATER = 1e12
T = TypeVar("T")


@pytest.fixture
def engine() -> ReplayEngine:
    return ReplayEngine()


@pytest.fixture
async def services(tmp_path: Path, engine: ReplayEngine) -> AsyncIterator[Services]:
    async with serving(tmp_path, engine) as services:
        yield services


async def respond(services: Services, text: str, **fields: object) -> str:
    """Create a response, wait for its end, and return its id."""
    request = parse_object(ResponseRequest, {"model": "fake-1", "input": text, **fields})
    _, run = await services.responses.create(request)
    await run.ended.wait()
    return response_id_of(run.answer.id)


async def ids(services: Services, table: str, column: str = "id") -> list[str]:
    return [row[column] for row in await services.store.database.read(f"SELECT {column} FROM {table} ORDER BY 1")]


async def served(services: Services, hours: int, wall: float) -> float:
    """Serve for a few hours, after which the clock shows `wall`; return that time."""
    for hour in range(1, hours + 1):
        await services.store.served.tick(3600, wall - 3600 * (hours - hour), window=UNDO_SECONDS)
    return wall


async def test_response_expires_with_its_text_and_kv(services: Services, engine: ReplayEngine) -> None:
    await respond(services, "a secret")
    made = time.time()
    young = await respond(services, "another one")
    await services.deletions.remove_expired(made)
    assert await ids(services, "response", "message_id") == [message_id_of(young)]
    assert len(await ids(services, "conversation")) == 1
    [trail] = await engine.until_erased(1)
    assert text_of(trail.token_ids).startswith("<user\na secret>")


async def test_messages_stay_while_a_younger_response_follows(services: Services) -> None:
    first = await respond(services, "one")
    made = time.time()
    second = await respond(services, "two", previous_response_id=first)
    await services.deletions.remove_expired(made)
    with pytest.raises(NotFoundError):
        await services.responses.get(first)
    path = await services.store.messages.path(message_id_of(second))
    assert [each.content for each in path][::2] == ["one", "two"]
    await respond(services, "three", previous_response_id=second)
    await services.deletions.remove_expired(LATER)
    for table in ("conversation", "message"):
        assert await ids(services, table) == []


async def test_response_of_named_conversation_never_expires(services: Services) -> None:
    conversation = await services.store.conversations.create({"source": "api"})
    await respond(services, "one", conversation=conversation.id)
    await services.deletions.remove_expired(LATER)
    assert len(await ids(services, "message")) == 2
    assert len(await ids(services, "response", "message_id")) == 1


async def test_running_response_does_not_expire(services: Services, engine: ReplayEngine) -> None:
    engine.hold()
    request = parse_object(ResponseRequest, {"model": "fake-1", "input": "one", "background": True})
    _, run = await services.responses.create(request)
    await services.deletions.remove_expired(LATER)
    assert len(await ids(services, "response", "message_id")) == 1
    engine.allow(None)
    await run.ended.wait()
    await services.deletions.remove_expired(LATER)
    assert await ids(services, "message") == []


async def test_answer_that_a_chat_shows_outlives_its_response(services: Services) -> None:
    response = await respond(services, "one")
    answer = await services.store.messages.get(message_id_of(response))
    run = await services.turns.retry(answer.parent_id or "", RetryFields())
    await run.ended.wait()
    await services.deletions.remove_expired(LATER)
    assert await ids(services, "message") == sorted([answer.parent_id or "", run.answer.id])


@pytest.mark.parametrize("jump", [0.0, 10 * 365 * DAY])
async def test_age_counts_on_the_clock_and_in_served_time(services: Services, jump: float) -> None:
    wall = await served(services, 3, time.time())
    assert await services.store.served.days_ago(1) < 0
    wall = await served(services, 22, wall + jump + 22 * 3600)
    assert await services.store.served.days_ago(1) < 0
    await served(services, 3, wall + 3 * 3600)
    # A day of serving ago the clock had not jumped yet.
    assert await services.store.served.days_ago(1) <= time.time()
    wall = await served(services, 24, wall + 27 * 3600)
    assert wall - DAY - 2 * 3600 <= await services.store.served.days_ago(1) <= wall - DAY


async def test_time_while_the_clock_was_set_back_does_not_count(services: Services) -> None:
    now = await served(services, 2, time.time())
    await served(services, 1, now - 100 * DAY)
    # The clock is right again before the hour ends.
    await services.store.served.tick(60, now + 3660, window=UNDO_SECONDS)
    await served(services, 23, now + DAY)
    assert await services.store.served.days_ago(1) == now - 100 * DAY


@pytest.mark.parametrize(("days", "hours", "left"), [(2, 52, 0), (2, 40, 1), (0, 52, 1)])
async def test_old_response_goes_after_its_days_of_serving(tmp_path: Path, days: int, hours: int, left: int) -> None:
    async with serving(tmp_path, ReplayEngine(), response_days=days) as services:
        await respond(services, "one")
        long_ago = time.time() - 3 * DAY
        await services.store.database.write(
            lambda connection: connection.execute("UPDATE message SET created_at = ?", (long_ago,))
        )
        await served(services, hours, time.time())
        await services.deletions.remove_due(0.0)
        assert len(await ids(services, "response", "message_id")) == left


async def test_long_path_is_removed_in_batches(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_ends, "BATCH_MESSAGES", 3)
    turns = [{"role": ("user", "assistant")[index % 2], "content": f"part {index}"} for index in range(9)]
    first = await respond(services, "first")
    last = await respond(services, "", input=turns, previous_response_id=first)
    counts, write = list[int](), SqliteDatabase.write

    async def counted(database: SqliteDatabase, work: Callable[[DatabaseConnection], T], *, durable: bool = True) -> T:
        def counting(connection: DatabaseConnection) -> T:
            [[before]] = connection.fetch_all("SELECT count(*) FROM message")
            result = work(connection)
            [[after]] = connection.fetch_all("SELECT count(*) FROM message")
            counts.append(before - after)
            return result

        return await write(database, counting, durable=durable)

    monkeypatch.setattr(SqliteDatabase, "write", counted)
    await services.responses.delete(last)
    assert [count for count in counts if count] == [3, 3, 3, 1]
    assert len(await ids(services, "message")) == 2
    await services.responses.delete(first)
    assert await ids(services, "conversation") == []


async def test_removal_that_was_cut_is_ended_by_the_next_process(tmp_path: Path) -> None:
    async with serving(tmp_path, ReplayEngine()) as services:
        response = await respond(services, "one")
        message_id = message_id_of(response)

        def cut(connection: DatabaseConnection) -> None:
            connection.execute("DELETE FROM response")
            mark_path_end(connection, message_id)

        await services.store.database.write(cut)
    engine = ReplayEngine()
    async with serving(tmp_path, engine) as services:
        services.begin()
        assert (await engine.until_erased(1))[0].num_shared == 0
        assert await ids(services, "message") == []


async def test_search_for_expired_responses_reads_no_young_ones(services: Services) -> None:
    database = services.store.database
    plan = await database.read(f"EXPLAIN QUERY PLAN {oldest_expiring(database.dialect)}")
    steps = [row["detail"] for row in plan]
    assert any("response_expiring" in step for step in steps)
    assert not any("B-TREE" in step for step in steps)


async def test_search_for_an_input_reads_no_other_responses(services: Services) -> None:
    database = services.store.database
    plan = await database.read(f"EXPLAIN QUERY PLAN {with_input(database.dialect)}", ("[]", "local"))
    steps = [row["detail"] for row in plan]
    assert any("INDEX response_input" in step for step in steps)
    assert not any("SCAN" in step and "json_each" not in step.lower() for step in steps), steps
