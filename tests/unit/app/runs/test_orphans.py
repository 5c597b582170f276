"""Runs of a file that its server does not work on, although it is their owner."""

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from app.domain.records import new_id
from app.domain.storage_health import CommitUnknownError
from app.schemas.conversations import NewMessage
from app.storage.run_records import TurnRows
from app.storage.runs import RunStore
from tests.unit.app.runs.test_resumption import WHOLE_ANSWER, Process, end_of, process


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Process]:
    """Run a server on a file, which looks for its runs when a test says so."""
    monkeypatch.setattr("app.runs.lease.RENEW_SECONDS", 600.0)
    async with process(tmp_path / "conversations.db") as server:
        yield server


async def asked_too_late(server: Process, question: NewMessage) -> str:
    """Ask a question whose turn is stored after the time limit of the request. Return the id of the run."""
    conversation = await server.services.store.conversations.create({})
    begin = RunStore.begin

    async def begin_late(store: RunStore, turn: TurnRows) -> None:
        await begin(store, turn)
        is_stored = Future[bool]()
        is_stored.set_result(True)
        raise CommitUnknownError(is_stored)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunStore, "begin", begin_late)
        with pytest.raises(CommitUnknownError):
            await server.services.turns.ask(conversation.id, question)
    [run_id] = await server.services.store.runs.in_progress()
    return run_id


async def test_answer_stored_too_late_is_resumed_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.runs.lease.RENEW_SECONDS", 0.01)
    async with process(tmp_path / "conversations.db") as server:
        server.engine.hold()
        run_id = await asked_too_late(server, NewMessage(content="one"))
        await server.engine.until_running(1)
        server.engine.allow(None)
        answer = await end_of(server.run(run_id))
        assert answer.content == WHOLE_ANSWER
        assert await server.services.store.messages.get(answer.id) == answer
        assert await server.services.store.database.read("SELECT 1 FROM run") == []


async def test_answer_is_resumed_by_the_second_look(server: Process) -> None:
    run_id = await asked_too_late(server, NewMessage(content="one"))
    await server.services.records.lease.renew()
    assert server.services.records.runs.get(run_id, "local") is None
    await server.services.records.lease.renew()
    assert (await end_of(server.run(run_id))).content == WHOLE_ANSWER


async def test_question_repeated_during_the_answer_is_answered_once(server: Process) -> None:
    question = NewMessage(content="one", id=new_id("msg"))
    run_id = await asked_too_late(server, question)
    answer = await server.services.store.messages.of_run(run_id)
    copy = await server.services.turns.ask(answer.conversation_id, question)
    assert (copy.id, copy.answer.status) == (run_id, "in_progress")
    for _ in range(2):
        await server.services.records.lease.renew()
    again = await server.services.turns.ask(answer.conversation_id, question)
    assert (await end_of(again)).content == WHOLE_ANSWER
    async with asyncio.timeout(20):
        assert [frame async for frame in copy.log.follow(None)]
    assert [each.status for each in await server.services.store.messages.path(answer.id)] == ["complete"] * 2


async def test_unknown_answer_can_be_cancelled(server: Process) -> None:
    run_id = await asked_too_late(server, NewMessage(content="one"))
    await server.services.store.runs.ask_to_cancel([run_id])
    for _ in range(2):
        await server.services.records.lease.renew()
    assert (await server.services.turns.cancel(run_id)).status == "cancelled"


async def test_answers_that_the_engine_works_on_are_left_alone(server: Process) -> None:
    services = server.services
    server.engine.hold()
    conversation = await services.store.conversations.create({})
    run = await services.turns.ask(conversation.id, NewMessage(content="one"))
    for _ in range(3):
        await services.records.lease.renew()
    assert server.run(run.id) is run
    server.engine.allow(None)
    assert (await end_of(run)).content == WHOLE_ANSWER
    assert len(server.engine.requests) == 1
