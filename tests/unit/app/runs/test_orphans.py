"""Runs of a file that its server does not work on, although it is their owner."""

from collections.abc import AsyncIterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from app.domain.storage_health import CommitUnknownError
from app.schemas.conversations import NewMessage
from app.storage.run_records import Turn
from app.storage.runs import RunStore
from tests.unit.app.runs.test_resumption import WHOLE_ANSWER, Process, end_of, process


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Process]:
    """Run a server on a file, which looks for its runs all the time."""
    monkeypatch.setattr("app.runs.lease.RENEW_SECONDS", 0.01)
    async with process(tmp_path / "conversations.db") as server:
        yield server


async def test_answer_stored_too_late_for_its_request_is_resumed(
    server: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = server.services
    server.engine.hold()
    conversation = await services.store.conversations.create({})
    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "begin", begins_late)
        with pytest.raises(CommitUnknownError):
            await services.turns.ask(conversation.id, NewMessage(content="one"))
    [run_id] = await services.store.runs.in_progress()
    await server.engine.until_running(1)
    server.engine.allow(None)
    answer = await end_of(server.run(run_id))
    assert answer.content == WHOLE_ANSWER
    assert await services.store.messages.get(answer.id) == answer
    assert await services.store.database.read("SELECT 1 FROM run") == []


async def test_answers_that_the_engine_works_on_are_left_alone(server: Process) -> None:
    services = server.services
    server.engine.hold()
    conversation = await services.store.conversations.create({})
    run = await services.turns.ask(conversation.id, NewMessage(content="one"))
    for _ in range(3):
        await services.lease.renew()
    assert server.run(run.id) is run
    server.engine.allow(None)
    assert (await end_of(run)).content == WHOLE_ANSWER
    assert len(server.engine.requests) == 1


begin = RunStore.begin


async def begins_late(store: RunStore, turn: Turn) -> None:
    """Store a turn, but after the time limit of the request."""
    await begin(store, turn)
    is_stored = Future[bool]()
    is_stored.set_result(True)
    raise CommitUnknownError(is_stored)
