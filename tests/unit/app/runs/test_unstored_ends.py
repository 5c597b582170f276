"""Ends of runs that a locked or full database refuses: kept, stored later, and their chat stays usable."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversations.turns import Turns
from app.domain.records import Message
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.runs import unstored_ends
from app.runs.run import Run
from app.runs.service import RunRegistry
from app.runs.unstored_ends import UnstoredEnds
from app.schemas.conversations import NewMessage, RetryFields
from app.services import Services
from app.storage.connection import DatabaseConnection
from app.storage.errors import ConstraintError
from engine.api.errors import OutageError
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS

pytest_plugins = ["tests.services_fixtures"]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make writes to a locked database fail at once instead of after five seconds."""
    monkeypatch.setattr("app.domain.storage_health.PATIENT_MILLISECONDS", 0)
    monkeypatch.setattr("app.domain.storage_health.IMPATIENT_MILLISECONDS", 0)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the database's write lock on another connection until the block ends."""
    with closing(sqlite3.connect(path / "conversations.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


async def ended_under_lock(services: Services, engine: ReplayEngine, path: Path) -> Run:
    """Run a question to its end while the database is locked. Return the ended run."""
    engine.hold()
    conversation = await services.store.conversations.create({})
    run = await services.turns.ask(conversation.id, NewMessage(content="one"))
    with locked(path):
        engine.allow(None)
        await run.ended.wait()
    return run


async def ended(services: Services) -> Run:
    conversation = await services.store.conversations.create({})
    run = await services.turns.ask(conversation.id, NewMessage(content="one"))
    await run.ended.wait()
    return run


async def held_after_three_tokens(services: Services, engine: ReplayEngine) -> Run:
    engine.hold()
    conversation = await services.store.conversations.create({})
    run = await services.turns.ask(conversation.id, NewMessage(content="one"))
    engine.allow(3)
    await engine.until_produced(engine.requests[-1], 3)
    return run


async def stored(services: Services, run: Run) -> Message:
    return await services.store.messages.get(run.answer.id)


async def test_refused_end_is_announced_and_text_stays_readable(
    services: Services, engine: ReplayEngine, tmp_path: Path
) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    frames = [frame async for frame in run.log.follow(0)]
    assert b"event: error" in frames[-1]
    assert b"stores it as soon as it can" in frames[-1]
    conversation = await services.store.conversations.get(run.answer.conversation_id)
    [[_, shown]] = [part async for part in services.turns.shown_path(conversation)]
    assert (shown.status, shown.content) == ("complete", WHOLE_ANSWER)
    assert (await stored(services, run)).status == "in_progress"


async def test_refused_end_is_stored_after_lock_is_released(
    services: Services, engine: ReplayEngine, tmp_path: Path
) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    retrying = services.records.runs._unstored._task
    assert retrying is not None
    await asyncio.wait_for(retrying, 20)
    assert await stored(services, run) == run.answer
    assert run.failure is None
    frames = [frame async for frame in run.log.follow(0)]
    assert b"event: done" in frames[-1]
    assert await services.store.runs.unfinished() == []


async def test_pages_learn_when_refused_end_is_stored(services: Services, engine: ReplayEngine, tmp_path: Path) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    conversation_id = run.answer.conversation_id
    with services.records.changes.followed("local") as follower:
        await services.records.runs.settle()
        assert follower.take() == {conversation_id: False}
    assert (await services.store.conversations.get(conversation_id)).unread


async def limit_pages(services: Services, pages: int | None) -> None:
    """Limit the database file to `pages` pages. None stands for its current size."""

    def limit(connection: DatabaseConnection) -> None:
        [[now]] = connection.fetch_all("PRAGMA page_count")
        most = pages if pages is not None else now
        connection.execute(f"PRAGMA max_page_count = {most}")

    await services.store.database.write(limit)


async def test_end_refused_by_full_disk_is_stored_later(services: Services, engine: ReplayEngine) -> None:
    engine.hold()
    conversation = await services.store.conversations.create({})
    # The question fills its page, so the end of the answer needs a new page.
    run = await services.turns.ask(conversation.id, NewMessage(content="x" * 3900))
    await limit_pages(services, None)
    engine.allow(None)
    await run.ended.wait()
    assert services.records.runs.unstored == 1
    with pytest.raises(OutageError, match="full"):
        await services.records.runs.settle()
    await limit_pages(services, 1 << 20)
    await services.records.runs.settle()
    assert services.records.runs.unstored == 0
    assert await stored(services, run) == run.answer


async def test_chat_is_usable_before_end_is_stored(services: Services, engine: ReplayEngine, tmp_path: Path) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    next_run = await services.turns.ask(run.answer.conversation_id, NewMessage(content="two"))
    assert next_run.answer.parent_id is not None
    await next_run.ended.wait()
    assert await stored(services, run) == run.answer
    assert (await stored(services, next_run)).status == "complete"


async def test_retry_stores_refused_end_first(services: Services, engine: ReplayEngine, tmp_path: Path) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    again = await services.turns.retry(run.answer.id, RetryFields())
    await again.ended.wait()
    assert again.answer.parent_id == run.answer.parent_id
    assert await stored(services, run) == run.answer


async def test_cut_answer_continues_after_refused_end(services: Services, engine: ReplayEngine, tmp_path: Path) -> None:
    run = await held_after_three_tokens(services, engine)
    with locked(tmp_path):
        await services.records.runs.cancel(run.id, "local")
    assert run.answer.status == "cancelled"
    engine.allow(None)
    continued = await services.continuation.resume(run.answer.id)
    await continued.ended.wait()
    assert continued.answer.content == WHOLE_ANSWER


async def test_cancel_is_confirmed_once_it_is_stored(services: Services, engine: ReplayEngine, tmp_path: Path) -> None:
    run = await held_after_three_tokens(services, engine)
    with locked(tmp_path), pytest.raises(OutageError, match="lock"):
        await services.turns.cancel(run.id)
    cancelled = await services.turns.cancel(run.id)
    assert (cancelled.status, cancelled.content) == ("cancelled", " w0 w1 w2")
    assert await stored(services, run) == cancelled


async def test_question_is_refused_while_database_is_locked(
    services: Services, engine: ReplayEngine, tmp_path: Path
) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    asked = len(engine.requests)
    with locked(tmp_path), pytest.raises(OutageError, match="lock"):
        await services.turns.ask(run.answer.conversation_id, NewMessage(content="two"))
    assert len(engine.requests) == asked


async def test_cancel_after_refused_end_returns_answer(
    services: Services, engine: ReplayEngine, tmp_path: Path
) -> None:
    run = await ended_under_lock(services, engine, tmp_path)
    cancelled = await services.turns.cancel(run.id)
    assert (cancelled.status, cancelled.content) == ("complete", WHOLE_ANSWER)


async def test_run_with_unstored_end_outlives_retention(
    services: Services, engine: ReplayEngine, tmp_path: Path
) -> None:
    runs = RunRegistry(services.store.runs, services.records.shared_runs, keep_seconds=0, keep_runs=0)
    turns = Turns(services.model.host, services.store, runs, services.access.gates.of("local"))
    hasty = replace(services, records=replace(services.records, runs=runs), turns=turns)
    run = await ended_under_lock(hasty, engine, tmp_path)
    await asyncio.sleep(0)
    assert runs.get(run.id, "local") is run
    await runs.settle()
    await asyncio.sleep(0)
    assert runs.get(run.id, "local") is None


async def test_next_process_resumes_run_with_unstored_end(tmp_path: Path) -> None:
    engine = ReplayEngine()
    await engine.start()
    host = EngineHost()
    host.ready(engine, "identity")
    services = await open_services(tmp_path / "conversations.db", host)
    run = await ended_under_lock(services, engine, tmp_path)
    with locked(tmp_path):
        await engine.stop(0)
        await services.close()
    second = ReplayEngine()
    await second.start()
    host = EngineHost()
    host.ready(second, "identity")
    services = await open_services(tmp_path / "conversations.db", host)
    resumed = services.records.runs.get(run.id, "local")
    assert resumed is not None
    await resumed.ended.wait()
    assert resumed.answer.content == WHOLE_ANSWER
    await second.stop(0)
    await services.close()


def reject_ends(monkeypatch: pytest.MonkeyPatch, services: Services, is_bad: Callable[[Message], bool]) -> None:
    """Reject ends as a defect does, and retry them without a pause."""

    async def finish(answer: Message, epoch: int = 0) -> bool:
        if is_bad(answer):
            raise ConstraintError("a row that cannot be stored")
        return await taken(answer, epoch)

    taken = services.store.runs.finish
    monkeypatch.setattr(services.store.runs, "finish", finish)
    monkeypatch.setattr(unstored_ends, "FIRST_PAUSE_SECONDS", 0.0)


async def retried(services: Services) -> None:
    task = services.records.runs._unstored._task
    assert task is not None
    await asyncio.wait_for(task, 20)


async def test_end_rejected_for_good_is_stored_without_its_text(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    reject_ends(monkeypatch, services, lambda answer: answer.content != "")
    run = await ended(services)
    assert b"storage_failed" in [frame async for frame in run.log.follow(0)][-1]
    await retried(services)
    shown = await stored(services, run)
    assert (shown.status, shown.content) == ("failed", "")
    assert shown.error is not None
    assert "Ask again" in shown.error["message"]
    assert run.answer == shown
    again = await services.turns.retry(run.answer.id, RetryFields())
    assert again.answer.parent_id == run.answer.parent_id


async def test_end_rejected_once_is_stored_whole(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = iter([True, True])
    reject_ends(monkeypatch, services, lambda _: next(attempts, False))
    run = await ended(services)
    await retried(services)
    assert (await stored(services, run)).content == WHOLE_ANSWER


async def test_rejected_end_delays_no_other_chat(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    rejected = list[str]()

    def is_of_first_run(answer: Message) -> bool:
        rejected.append(answer.run_id or "")
        return answer.run_id == rejected[0]

    reject_ends(monkeypatch, services, is_of_first_run)
    monkeypatch.setattr(unstored_ends, "FIRST_PAUSE_SECONDS", 3600.0)
    await ended(services)
    assert (await stored(services, await ended(services))).content == WHOLE_ANSWER
    assert services.records.runs.unstored == 1


async def test_end_rejected_in_every_form_is_given_up(
    services: Services, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reject_ends(monkeypatch, services, lambda _: True)
    run = await ended(services)
    await retried(services)
    assert services.records.runs.unstored == 0
    # The database names the run as this server's at each renewal of the lease.
    assert services.records.runs.orphans([run.id]) == set()
    assert caplog.text.count("rejected the end") == unstored_ends.MOST_REJECTIONS + 1


async def test_concurrent_store_all_leaves_no_ends(services: Services, engine: ReplayEngine) -> None:
    ends = UnstoredEnds(services.store.runs, lambda _: None)
    await asyncio.gather(*(ends.store_all() for _ in range(5)))
    assert len(ends) == 0
    assert engine.running == 0
