"""Titles that are due when their server ends: another server makes them. The engines have no model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.conversations.title_maker import TitleMaker
from app.runs.run import Run
from engine.testing.replay_engine import ReplayEngine
from tests.postgres.server import Server, end_of, server
from tests.unit.app.conversations.test_title_maker import TITLE, TitleOrWords, asked_for_titles

QUESTION = "What is a tide?"


@pytest.fixture
async def first(tmp_path: Path) -> AsyncIterator[Server]:
    """Run a server that never comes to the title of an answer."""
    async with server(tmp_path, "first", ReplayEngine(TitleOrWords())) as made:
        titles_of(made)._poll_seconds = 3600.0
        yield made


@pytest.fixture
async def second(tmp_path: Path, first: Server) -> AsyncIterator[Server]:
    async with server(tmp_path, "second", ReplayEngine(TitleOrWords())) as made:
        titles_of(made)._poll_seconds = 0.001
        yield made


def titles_of(server: Server) -> TitleMaker:
    assert server.services.model.titles is not None
    return server.services.model.titles


async def due(server: Server) -> list[str]:
    """Return the servers that have a title to make."""
    return [row["owner"] for row in await server.services.store.database.read("SELECT owner FROM due_title")]


async def begun(server: Server) -> Run:
    """Hold the first answer of a chat after three tokens, once its title is due."""
    run = await server.asked(3, QUESTION)
    titles_of(server).after(run)
    async with asyncio.timeout(20):
        while not await due(server):
            pass
    return run


async def answered(server: Server) -> Run:
    run = await begun(server)
    server.engine.allow(None)
    await end_of(run)
    return run


async def title_at(server: Server, run: Run) -> str | None:
    """Wait until the server has no title left to make, and return the title of the run's chat."""
    async with asyncio.timeout(20):
        await titles_of(server).join()
    return (await server.services.store.conversations.get(run.answer.conversation_id)).title


async def test_title_of_a_dead_server_is_made_by_another(first: Server, second: Server) -> None:
    run = await answered(first)
    await first.expire()
    await second.lease.renew()
    assert await title_at(second, run) == TITLE
    assert await due(second) == []
    assert asked_for_titles(first.engine) == []


async def test_title_of_a_live_server_is_left_alone(first: Server, second: Server) -> None:
    run = await answered(first)
    await second.lease.renew()
    assert await title_at(second, run) == QUESTION
    assert await due(second) == [first.services.store.database.server]


async def test_title_of_an_answer_in_progress_waits_for_its_new_server(first: Server, second: Server) -> None:
    run = await begun(first)
    await first.expire()
    assert await second.services.store.due_titles.take_over() == []
    await second.lease.renew()
    await end_of(second.run(run.id))
    assert await title_at(second, run) == TITLE
    assert await due(second) == []


async def test_server_that_wakes_up_leaves_the_title_to_the_new_owner(first: Server, second: Server) -> None:
    run = await answered(first)
    await first.expire()
    second.engine.hold()
    await second.lease.renew()
    await second.engine.until_running(1)
    titles_of(first)._poll_seconds = 0.001
    await titles_of(first)._make(run.answer.id)
    assert await due(second) == [second.services.store.database.server]
    second.engine.allow(None)
    assert await title_at(second, run) == TITLE
    assert await due(second) == []


async def test_title_that_ends_server_after_server_is_given_up(tmp_path: Path, first: Server) -> None:
    run = await answered(first)
    await first.expire()
    for name in ("second", "third"):
        async with server(tmp_path, name, ReplayEngine(TitleOrWords()), is_held=True) as dying:
            assert await due(dying) == [dying.services.store.database.server]
            await dying.expire()
            # The next server finds the row of a server that ended without notice.
            dying.services.records.lease._task = None
    async with server(tmp_path, "last", ReplayEngine(TitleOrWords())) as last:
        assert await title_at(last, run) == QUESTION
        assert await due(last) == []
