"""Continuing a cut answer in the same message, with the real store and an engine without a model."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.apis.responses.schema import ResponseRequest
from app.conversations.continuation import Continuation
from app.domain.records import Message
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.runs.run import Run
from app.schemas.conversations import NewMessage
from app.schemas.parsing import parse_object
from app.services import Services
from app.storage.messages import MessageStore
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS

pytest_plugins = ["tests.services_fixtures"]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


async def ended(run: Run) -> Message:
    async with asyncio.timeout(20):
        await run.ended.wait()
    return run.answer


async def asked(services: Services, **params: Any) -> Run:
    conversation = await services.store.conversations.create({})
    return await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": "one", "params": params}))


async def test_cut_answer_continues_in_same_message_to_its_end(services: Services, engine: ReplayEngine) -> None:
    cut = await ended(await asked(services, max_tokens=3))
    run = await services.continuation.resume(cut.id)
    frames = b"".join([frame async for frame in run.log.follow(0)])
    answer = await ended(run)
    assert (answer.id, answer.content, answer.status) == (cut.id, WHOLE_ANSWER, "complete")
    assert await services.store.messages.get(cut.id) == answer
    assert engine.requests[1].prompt == engine.requests[0].prompt
    assert engine.requests[1].params.seed == engine.requests[0].params.seed
    assert b"event: run" in frames
    assert frames.count(b" w0 w1 w2") == 2, "once as a delta, once in the final message"


async def test_continuation_keeps_to_token_limit_of_chat(services: Services) -> None:
    conversation = await services.store.conversations.create({"params": {"max_tokens": 3}})
    cut = await ended(await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": "one"})))
    answer = await ended(await services.continuation.resume(cut.id))
    assert (answer.content, answer.status) == (" w0 w1 w2 w3 w4 w5", "incomplete")


async def test_stopped_answer_continues_and_can_be_stopped_again(services: Services, engine: ReplayEngine) -> None:
    engine.hold()
    run = await asked(services)
    for words in (2, 3):
        engine.allow(words)
        await engine.until_produced(engine.requests[-1], words if words == 2 else 5)
        stopped = await services.turns.cancel(run.id)
        run = await services.continuation.resume(stopped.id)
    assert stopped.content == " w0 w1 w2 w3 w4"
    engine.allow(None)
    assert (await ended(run)).content == WHOLE_ANSWER


async def test_answer_stopped_before_first_token_starts(services: Services, engine: ReplayEngine) -> None:
    engine.hold()
    stopped = await services.turns.cancel((await asked(services)).id)
    run = await services.continuation.resume(stopped.id)
    engine.allow(None)
    assert (await ended(run)).content == WHOLE_ANSWER


@pytest.mark.sqlite_file
async def test_continued_answer_survives_restart(services: Services, engine: ReplayEngine, tmp_path: Path) -> None:
    cut = await ended(await asked(services, max_tokens=3))
    engine.hold()
    run = await services.continuation.resume(cut.id)
    engine.allow(2)
    await engine.until_produced(engine.requests[-1], 5)
    await services.model.host.stop(0)
    await run.ended.wait()
    host, fresh = EngineHost(), ReplayEngine()
    await fresh.start()
    later = await open_services(tmp_path / "conversations.db", host)
    host.ready(fresh, "identity")
    resumed = later.records.runs.get(run.id, "local")
    assert resumed is not None
    assert (await ended(resumed)).content == WHOLE_ANSWER
    await fresh.stop(0)
    await later.close()


async def test_continuation_has_the_form_of_its_answer(services: Services, engine: ReplayEngine) -> None:
    body = {"model": "fake-1", "input": "hi", "max_output_tokens": 2, "text": {"format": {"type": "json_object"}}}
    _, begun = await services.responses.create(parse_object(ResponseRequest, body))
    run = await services.continuation.resume((await ended(begun)).id)
    await ended(run)
    first, again = (stream.params.form for stream in engine.requests)
    assert again == first is not None


async def test_only_cut_answer_that_is_not_running_continues(services: Services, engine: ReplayEngine) -> None:
    whole = await ended(await asked(services))
    with pytest.raises(ConflictError, match="complete"):
        await services.continuation.resume(whole.id)
    assert whole.parent_id is not None
    with pytest.raises(InvalidRequestError, match="Only an answer"):
        await services.continuation.resume(whole.parent_id)
    engine.hold()
    live = await asked(services)
    with pytest.raises(ConflictError, match="still being generated"):
        await services.continuation.resume(live.answer.id)


async def test_one_of_two_concurrent_continuations_wins(services: Services, engine: ReplayEngine) -> None:
    cut = await ended(await asked(services, max_tokens=3))
    engine.hold()
    outcomes = await asyncio.gather(*(services.continuation.resume(cut.id) for _ in range(2)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ConflictError", "Run"]
    await engine.until_running(1)


async def test_changed_system_prompt_prevents_continuation(services: Services) -> None:
    cut = await ended(await asked(services, max_tokens=3))
    await services.store.conversations.change(cut.conversation_id, {"system_prompt": "Be brief."})
    with pytest.raises(ConflictError, match="retry the answer"):
        await services.continuation.resume(cut.id)
    assert (await services.store.messages.get(cut.id)).status == "incomplete"


async def test_continuation_leaves_out_what_its_answer_did(services: Services, engine: ReplayEngine) -> None:
    whole = await ended(await asked(services))
    fields = {"content": "two", "left_out": 2, "params": {"max_tokens": 3}}
    cut = await ended(await services.turns.ask(whole.conversation_id, parse_object(NewMessage, fields)))
    answer = await ended(await services.continuation.resume(cut.id))
    assert (answer.content, answer.left_out) == (WHOLE_ANSWER, 2)
    assert engine.requests[-1].prompt == engine.requests[-2].prompt


async def test_kv_of_chat_deleted_during_admission_is_erased(services: Services, engine: ReplayEngine) -> None:
    cut = await ended(await asked(services, max_tokens=3))

    class DeletedDuringAnswer(MessageStore):
        async def own_prompt(self, message_id: str) -> bytes | None:
            found = await super().own_prompt(message_id)
            await services.store.deletions.remove_conversation(cut.conversation_id)
            return found

    engine.hold()
    store = replace(services.store, messages=DeletedDuringAnswer(services.store.database, "local"))
    gate = services.access.gates.of("local")
    continuation = Continuation(services.model.host, store, services.records.runs, gate, services.model.erasure.begin)
    with pytest.raises(NotFoundError):
        await continuation.resume(cut.id)
    assert engine.running == 0
    [trail] = await engine.until_erased(1)
    assert trail.ends == (len(engine.requests[0].prompt) + 3,)
