"""Resuming the runs that a former process left unfinished, with the real store and an engine without a model."""

import asyncio
import shutil
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.apis.responses.schema import ResponseRequest
from app.domain.records import Message
from app.domain.tool_use import MayCall
from app.host.engine_host import EngineHost
from app.open_services import ServicePlan, open_services
from app.runs.run import Run
from app.schemas.conversations import NewMessage
from app.schemas.parsing import parse_object
from app.services import Services
from engine.api.errors import NotReadyError, OverloadedError
from engine.api.generate_request import GenerateRequest
from engine.testing.answer import ReplayedAnswer
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from models.adapters.adapter import Adapter
from tests.unit.app.conversations.test_title_maker import TITLE, TitleOrWords

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


@dataclass(frozen=True)
class Process:
    services: Services
    engine: ReplayEngine

    def ready(self) -> None:
        self.services.model.host.ready(self.engine, "identity")

    async def interrupted(self, num_tokens: int, **fields: Any) -> Run:
        """Start a run and stop the process after `num_tokens` tokens."""
        self.engine.hold()
        conversation = await self.services.store.conversations.create({})
        body = parse_object(NewMessage, {"content": "one", **fields})
        run = await self.services.turns.ask(conversation.id, body)
        self.engine.allow(num_tokens)
        await self.engine.until_produced(self.engine.requests[-1], num_tokens)
        await self.services.model.host.stop(0)
        await run.ended.wait()
        return run

    def run(self, run_id: str) -> Run:
        found = self.services.records.runs.get(run_id, "local")
        assert found is not None
        return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations.db"


@asynccontextmanager
async def process(
    path: Path, engine: ReplayEngine | None = None, *, ready: bool = True, model_titles: bool = False
) -> AsyncIterator[Process]:
    services = await open_services(path, EngineHost(), ServicePlan(model_titles=model_titles))
    made = Process(services, engine or ReplayEngine())
    await made.engine.start()
    if ready:
        made.ready()
    yield made
    await made.engine.stop(0)
    await made.services.close()


async def end_of(run: Run) -> Message:
    async with asyncio.timeout(20):
        await run.ended.wait()
    return run.answer


async def test_interrupted_answer_continues_and_ends_as_without_stop(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(5)
        asked = first.engine.requests[-1]
    async with process(path) as second:
        answer = await end_of(second.run(run.id))
        (resumed,) = second.engine.requests
        stored = await second.services.store.messages.get(run.answer.id)
    assert (answer.content, answer.status) == (WHOLE_ANSWER, "complete")
    assert stored == answer
    assert resumed.prompt == asked.prompt
    assert resumed.produced[:5] == asked.produced[:5]
    assert replace(resumed.params, max_tokens=None) == replace(asked.params, max_tokens=None)


async def test_resumed_first_answer_is_followed_by_title(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(3, content="What is a tide?")
    async with process(path, ReplayEngine(TitleOrWords()), ready=False, model_titles=True) as second:
        assert await titled(second, run) == TITLE


async def test_client_back_before_engine_is_ready_misses_nothing(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(3)
    async with process(path, ready=False) as second:
        log = second.run(run.id).log
        frames = log.follow(log.cursor(f"{run.id}:0.3"))
        assert b'"text":" w2"' in await anext(frames)
        second.ready()
        async with asyncio.timeout(20):
            rest = b"".join([frame async for frame in frames])
    assert b" w2" not in rest.split(b"event: done")[0]
    assert WHOLE_ANSWER.encode() in rest


async def test_run_not_resumed_is_left_to_the_next_process(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(3)
    async with process(path, ready=False) as second:
        frames = second.run(run.id).log.follow(None)
        assert b"w0 w1 w2" in await anext(frames)
    assert b"server_restart" in await anext(frames)
    async with process(path) as third:
        assert (await end_of(third.run(run.id))).content == WHOLE_ANSWER


async def test_run_of_other_model_ends_incomplete_with_its_text(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(4)
    async with process(path, ready=False) as second:
        second.engine.kv_fingerprint = "other"
        second.ready()
        answer = await end_of(second.run(run.id))
        assert second.engine.requests == []
    assert (answer.status, answer.content) == ("incomplete", " w0 w1 w2 w3")
    async with process(path) as third:
        assert third.services.records.runs.get(run.id, "local") is None


@pytest.mark.parametrize("digest", ["a", "b"])
async def test_answer_of_adapter_continues_by_the_same_content_only(path: Path, digest: str) -> None:
    async with process(path, ReplayEngine(adapters=[Adapter("poet", "a", True)])) as first:
        first.engine.hold()
        fields = parse_object(ResponseRequest, {"model": "poet", "input": "one"})
        _, run = await first.services.responses.create(fields)
        first.engine.allow(3)
        await first.engine.until_produced(first.engine.requests[-1], 3)
        await first.services.model.host.stop(0)
        await run.ended.wait()
    async with process(path, ReplayEngine(adapters=[Adapter("poet", digest, True)]), ready=False) as second:
        second.ready()
        answer = await end_of(second.run(run.id))
        begun = [each.adapter for each in second.engine.requests]
    assert (answer.status, begun) == (("complete", ["poet"]) if digest == "a" else ("incomplete", []))


def after_kill(path: Path) -> Path:
    """Copy the files that a process killed now would leave, and return the path for the next process."""
    folder = path.parent / "killed"
    folder.mkdir()
    for file in path.parent.iterdir():
        if file.is_file():
            shutil.copy(file, folder)
    return folder / path.name


async def titled(process: Process, run: Run) -> str | None:
    """Wait until no title is due, and return that of the run's chat."""
    titles = process.services.model.titles
    assert titles is not None
    titles._poll_seconds = 0.001
    process.ready()
    if (resumed := process.services.records.runs.get(run.id, "local")) is not None:
        await end_of(resumed)
    async with asyncio.timeout(20):
        await titles.join()
    assert await process.services.store.database.read("SELECT * FROM due_title") == []
    return (await process.services.store.conversations.get(run.answer.conversation_id)).title


async def answered_without_title(process: Process) -> Run:
    """Let an answer end whose title is due."""
    titles = process.services.model.titles
    assert titles is not None
    titles._poll_seconds = 3600.0
    process.engine.hold()
    conversation = await process.services.store.conversations.create({})
    run = await process.services.turns.ask(conversation.id, NewMessage(content="What is a tide?"))
    titles.after(run)
    async with asyncio.timeout(20):
        while not await process.services.store.database.read("SELECT * FROM due_title"):
            pass
    process.engine.allow(None)
    await end_of(run)
    return run


async def test_title_due_at_kill_is_made_by_next_process(path: Path) -> None:
    async with process(path, ReplayEngine(TitleOrWords()), model_titles=True) as first:
        run = await answered_without_title(first)
        path = after_kill(path)
    async with process(path, ReplayEngine(TitleOrWords()), ready=False, model_titles=True) as second:
        assert await titled(second, run) == TITLE


async def test_title_cut_by_stop_is_made_by_next_process(path: Path) -> None:
    async with process(path, ReplayEngine(TitleOrWords()), model_titles=True) as first:
        run = await answered_without_title(first)
    async with process(path, ReplayEngine(TitleOrWords()), model_titles=True) as second:
        assert second.services.model.titles is not None
        second.services.model.titles._poll_seconds = 0.001
        second.engine.hold()
        await second.engine.until_running(1)
        await second.services.model.host.stop(0)
    async with process(path, ReplayEngine(TitleOrWords()), ready=False, model_titles=True) as third:
        assert await titled(third, run) == TITLE


async def killed_in_its_place(path: Path, run: Run, *, tokens: int = 0) -> Path:
    """Let a process resume the run, give it a place in the batch and `tokens` tokens, and die."""
    async with process(path, ready=False) as dying:
        dying.engine.hold()
        dying.ready()
        await dying.engine.until_running(1)
        [stream] = dying.engine.requests
        stream.take_place()
        if tokens:
            before = len(stream.produced)
            dying.engine.allow(tokens)
            await dying.engine.until_produced(stream, before + tokens)
            await dying.services.records.runs._save([dying.run(run.id)])
        return after_kill(path)


async def test_run_is_given_up_after_two_deaths_in_the_batch(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(4)
    for _ in range(2):
        path = await killed_in_its_place(path, run)
    async with process(path) as last:
        answer = await end_of(last.run(run.id))
        assert last.engine.requests == []
    assert (answer.status, answer.content) == ("incomplete", " w0 w1 w2 w3")
    assert answer.error is not None
    assert answer.error["code"] == "not_resumed"
    assert "died 2 times" in answer.error["message"]


async def test_abandoned_answer_can_be_continued(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(4)
    for _ in range(2):
        path = await killed_in_its_place(path, run)
    async with process(path) as last:
        await end_of(last.run(run.id))
        continued = await last.services.continuation.resume(run.answer.id)
        answer = await end_of(continued)
    assert (answer.status, answer.content, answer.error) == ("complete", WHOLE_ANSWER, None)


async def test_deaths_while_run_is_queued_do_not_count(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(4)
    for _ in range(4):
        async with process(path, ready=False) as dying:
            dying.engine.hold()
            dying.ready()
            await dying.engine.until_running(1)
            path = after_kill(path)
    async with process(path) as last:
        assert (await end_of(last.run(run.id))).content == WHOLE_ANSWER


async def test_orderly_stops_do_not_count_as_deaths(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(4)
    for _ in range(4):
        async with process(path, ready=False) as stopping:
            stopping.engine.hold()
            stopping.ready()
            await stopping.engine.until_running(1)
            stopping.engine.requests[0].take_place()
    async with process(path) as last:
        assert (await end_of(last.run(run.id))).content == WHOLE_ANSWER


async def test_new_token_resets_earlier_deaths(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(1)
    for attempt in range(5):
        path = await killed_in_its_place(path, run, tokens=attempt % 2)
    async with process(path) as last:
        assert (await end_of(last.run(run.id))).content == WHOLE_ANSWER


async def test_broken_engine_counts_as_death(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(4)
    for _ in range(2):
        async with process(path, ready=False) as broken:
            broken.engine.hold()
            broken.ready()
            await broken.engine.until_running(1)
            broken.engine.requests[0].take_place()
            broken.engine.give_up("its step hung")
    async with process(path) as last:
        assert (await end_of(last.run(run.id))).status == "incomplete"


async def test_locked_database_at_start_delays_resumption(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.domain.storage_health.PATIENT_MILLISECONDS", 0)
    monkeypatch.setattr("app.domain.storage_health.IMPATIENT_MILLISECONDS", 0)
    monkeypatch.setattr("app.runs.resumption.FIRST_PAUSE_SECONDS", 0.01)
    async with process(path) as first:
        run = await first.interrupted(4)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with process(path) as second:
            frames = second.run(run.id).log.follow(None)
            assert b"w0 w1 w2 w3" in await anext(frames)
            assert second.engine.requests == []
            other.execute("ROLLBACK")
            answer = await end_of(second.run(run.id))
            assert await second.services.store.messages.get(run.answer.id) == answer
    assert (answer.content, answer.status) == (WHOLE_ANSWER, "complete")


async def test_form_is_compiled_again_before_resuming(path: Path) -> None:
    tools = [{"type": "function", "name": "now"}]
    asked = {"model": "fake-1", "input": "When?", "background": True, "tools": tools, "tool_choice": "required"}
    async with process(path) as first:
        first.engine.hold()
        _, begun = await first.services.responses.create(parse_object(ResponseRequest, asked))
        first.engine.allow(2)
        await first.engine.until_produced(first.engine.requests[-1], 2)
        await first.services.model.host.stop(0)
        await begun.ended.wait()
    async with process(path) as second:
        answer = await end_of(second.run(begun.id))
        [resumed] = second.engine.requests
    assert resumed.params.form is not None
    assert resumed.params.form.kind == "calls"
    assert answer.tool_use == MayCall("hermes", parallel=True)


async def test_full_queue_delays_resumption_without_loss(path: Path) -> None:
    class FullAtFirst(ReplayEngine):
        refused = 0

        async def generate(self, request: GenerateRequest) -> list[ReplayedAnswer]:
            self.refused += 1
            if self.refused < 3:
                raise OverloadedError("too many requests are waiting", retry_after=0)
            return await super().generate(request)

    async with process(path) as first:
        run = await first.interrupted(4)
    async with process(path, FullAtFirst()) as second:
        assert (await end_of(second.run(run.id))).content == WHOLE_ANSWER


async def test_server_stopped_before_resuming_leaves_run_to_the_next(path: Path) -> None:
    class Stopping(ReplayEngine):
        asked = asyncio.Event()

        async def generate(self, request: GenerateRequest) -> list[ReplayedAnswer]:
            self.asked.set()
            raise NotReadyError("the engine is stopping")

    async with process(path) as first:
        run = await first.interrupted(4)
    stopping = Stopping()
    async with process(path, stopping) as second:
        frames = second.run(run.id).log.follow(None)
        assert b"snapshot" in await anext(frames)
        await stopping.asked.wait()
    assert b"server_restart" in await anext(frames)
    async with process(path) as third:
        assert (await end_of(third.run(run.id))).content == WHOLE_ANSWER


async def test_run_can_be_cancelled_before_engine_is_ready(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(2)
    async with process(path, ready=False) as second:
        answer = await second.services.turns.cancel(run.id)
        second.ready()
        await second.services.store.conversations.page()
        assert second.engine.requests == []
    assert (answer.status, answer.content) == ("cancelled", " w0 w1")


class Admitting(ReplayEngine):
    """Engine that admits requests only once it `admits`."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.admits = asyncio.Event(), asyncio.Event()
        self.dropped, self.aborted = asyncio.Event(), asyncio.Event()

    async def generate(self, request: GenerateRequest) -> list[ReplayedAnswer]:
        self.asked.set()
        try:
            await self.admits.wait()
        except asyncio.CancelledError:
            self.dropped.set()
            raise
        return await super().generate(request)

    def abort(self, request_id: str) -> None:
        super().abort(request_id)
        self.aborted.set()


async def test_run_cancelled_while_admitted_leaves_the_engine(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(2)
    admitting = Admitting()
    async with process(path, admitting) as second:
        await admitting.asked.wait()
        answer = await second.services.turns.cancel(run.id)
        # The engine admits nothing: a fleet may have no replica for minutes.
        async with asyncio.timeout(20):
            await admitting.dropped.wait()
        assert admitting.requests == []
        assert second.services.records.runs.live == 0
    assert (answer.status, answer.content) == ("cancelled", " w0 w1")


async def test_run_cancelled_as_it_is_admitted_is_aborted(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(2)
    admitting = Admitting()
    async with process(path, admitting) as second:
        await admitting.asked.wait()
        admitting.hold()
        found = second.services.records.runs.get(run.id, run.tenant)
        assert found is not None
        found.ended.set()
        admitting.admits.set()
        async with asyncio.timeout(20):
            await admitting.aborted.wait()
        assert second.services.records.runs.live == 0


async def test_timeout_of_run_continues_while_server_is_down(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(path) as first:
        run = await first.interrupted(2, timeout=60)
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 50)
    async with process(path, ready=False) as second:
        second.engine.hold()
        second.ready()
        await second.engine.until_running(1)
        assert second.engine.requests[0].urgency.timeout == pytest.approx(10, abs=1)
    monkeypatch.setattr(time, "time", lambda: now + 61)
    async with process(path) as third:
        assert (await end_of(third.run(run.id))).status == "incomplete"


async def test_conversation_with_interrupted_answer_can_be_deleted(path: Path) -> None:
    async with process(path) as first:
        run = await first.interrupted(2)
    async with process(path, ready=False) as second:
        await second.services.deletions.delete_conversation(run.answer.conversation_id)
        second.ready()
        assert await second.services.store.runs.unfinished() == []
