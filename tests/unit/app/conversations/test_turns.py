"""Turns and runs, with the real store on a real file and an engine without a model."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from app.conversations.turns import Turns
from app.domain.deltas import Delta
from app.domain.records import Conversation, Message
from app.domain.token_history import unpack_ids
from app.host.engine_host import EngineHost
from app.open_services import open_services
from app.runs.run import Run
from app.runs.service import KEEP_SECONDS, RunRegistry
from app.schemas.conversations import NewMessage, RetryFields
from app.schemas.parsing import parse_object
from app.services import Services
from app.storage.messages import MessageStore
from app.storage.run_records import RunProgress, StoredLength
from app.storage.runs import RunStore
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError, NotReadyError, OverloadedError
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS

pytest_plugins = ["tests.services_fixtures"]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


@pytest.fixture
async def conversation(services: Services) -> Conversation:
    return await services.store.conversations.create({})


async def ask(services: Services, conversation: Conversation, content: str, **fields: Any) -> Run:
    return await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": content, **fields}))


async def ended(run: Run) -> Message:
    async with asyncio.timeout(20):
        await run.ended.wait()
    return run.answer


async def until_text(run: Run, text: str) -> None:
    frames = run.log.follow(1)
    async with asyncio.timeout(20):
        while run.log.text != text:
            await anext(frames)


async def answered(services: Services, conversation: Conversation, content: str, **fields: Any) -> Message:
    return await ended(await ask(services, conversation, content, **fields))


async def test_answer_is_stored_before_done_event(services: Services, conversation: Conversation) -> None:
    run = await ask(services, conversation, "hello")
    async for frame in run.log.follow(0):
        if b"event: done" in frame:
            assert (await services.store.messages.get(run.answer.id)).status == "complete"
    stored = await services.store.messages.get(run.answer.id)
    assert (stored.content, stored.status, stored.finish_reason) == (WHOLE_ANSWER, "complete", "stop")
    assert stored.usage is not None
    assert stored.usage["kv"]["computed"] == stored.usage["prompt_tokens"]
    assert stored.params is not None
    assert stored.params["seed"] is not None


async def test_question_that_meets_a_deletion_is_refused_by_name(
    services: Services, conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    await answered(services, conversation, "one")
    second = await answered(services, conversation, "two")
    path, deletions = MessageStore.path, services.store.deletions

    def after(deletion: Callable[[], Awaitable[object]]) -> None:
        async def path_after_deletion(store: MessageStore, message_id: str | None) -> list[Message]:
            await deletion()
            return await path(store, message_id)

        monkeypatch.setattr(MessageStore, "path", path_after_deletion)

    after(lambda: deletions.hide_message(second.id))
    with pytest.raises(ConflictError, match="deleted since"):
        await ask(services, conversation, "three")
    after(lambda: deletions.hide_conversation(conversation.id))
    with pytest.raises(NotFoundError):
        await ask(services, conversation, "three")


async def test_changed_system_prompt_rerenders_path_once(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    await answered(services, conversation, "one")
    await services.store.conversations.change(conversation.id, {"system_prompt": "Be brief."})
    await answered(services, conversation, "two")
    await answered(services, conversation, "three")
    begun = text_of(engine.requests[1].prompt)
    assert begun == f"<system\nBe brief.><user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><assistant\n"
    assert engine.requests[2].prompt[: len(engine.requests[1].prompt)] == engine.requests[1].prompt


async def test_other_model_rerenders_path_and_retry(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    old = await answered(services, conversation, "one")
    services.model.host.prompt_identity = "another"
    new = await ended(await services.turns.retry(old.id, RetryFields()))
    await answered(services, conversation, "two")
    assert new.parent_id == old.parent_id
    assert text_of(engine.requests[2].prompt) == f"<user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><assistant\n"
    on_old_branch = await answered(services, conversation, "three", parent_id=old.id)
    assert on_old_branch.status == "complete"
    assert text_of(engine.requests[3].prompt).endswith("><user\nthree><assistant\n")


async def test_message_params_override_params_of_conversation(services: Services, engine: ReplayEngine) -> None:
    conversation = await services.store.conversations.create({"params": {"temperature": 0.3, "top_k": 5, "seed": 9}})
    answer = await answered(services, conversation, "one", params={"top_k": 7})
    params = engine.requests[0].params
    assert (params.temperature, params.top_k, params.seed) == (0.3, 7, 9)
    assert answer.params is not None
    assert (answer.params["temperature"], answer.params["top_k"], answer.params["max_tokens"]) == (
        0.3,
        7,
        params.max_tokens,
    )


@pytest.mark.parametrize(
    ("content", "params", "param"),
    [("x" * WINDOW, {}, "content"), ("x" * WINDOW, {"max_tokens": 1}, "content")],
    ids=["prompt", "prompt and limit"],
)
async def test_request_rejected_by_engine_is_not_stored(
    services: Services, conversation: Conversation, content: str, params: dict[str, int], param: str
) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await ask(services, conversation, content, params=params)
    assert caught.value.param == param
    assert (await services.store.conversations.get(conversation.id)).head_id is None


async def test_overload_is_rejected_and_not_stored(tmp_path: Path) -> None:
    engine, host = ReplayEngine(max_waiting=0), EngineHost()
    await engine.start()
    host.ready(engine, "identity")
    services = await open_services(tmp_path / "full.db", host)
    conversation = await services.store.conversations.create({})
    with pytest.raises(OverloadedError):
        await ask(services, conversation, "one")
    assert (await services.store.conversations.get(conversation.id)).head_id is None
    await engine.stop(0)
    await services.close()


async def test_turn_that_cannot_be_stored_leaves_no_request(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    class DeletedDuringAnswer(MessageStore):
        async def path(self, message_id: str | None) -> list[Message]:
            found = await super().path(message_id)
            await services.store.deletions.remove_conversation(conversation.id)
            return found

    engine.hold()
    store = replace(services.store, messages=DeletedDuringAnswer(services.store.database, "local"))
    turns = Turns(
        services.model.host,
        store,
        services.records.runs,
        services.access.gates.of("local"),
        services.model.erasure.begin,
    )
    with pytest.raises(NotFoundError):
        await turns.ask(conversation.id, NewMessage(content="one"))
    assert engine.running == 0
    # The deletion has erased the chat before the engine had the request.
    [trail] = await engine.until_erased(1)
    assert (trail.token_ids[:-1], trail.ends) == (list(engine.requests[0].prompt), (len(engine.requests[0].prompt),))


async def test_cancelled_run_keeps_text_and_cancel_is_idempotent(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    engine.hold()
    run = await ask(services, conversation, "one")
    engine.allow(3)
    await until_text(run, " w0 w1 w2")
    cancelled = await services.turns.cancel(run.id)
    assert (cancelled.status, cancelled.content) == ("cancelled", " w0 w1 w2")
    assert await services.turns.cancel(run.id) == cancelled
    assert await services.store.messages.get(cancelled.id) == cancelled
    assert engine.running == 0


async def test_unknown_run_cannot_be_cancelled(services: Services) -> None:
    with pytest.raises(NotFoundError):
        await services.turns.cancel("run_none")


async def test_engine_failure_ends_run_with_error_and_keeps_text(
    services: Services, conversation: Conversation
) -> None:
    answer = await answered(services, conversation, FAILING)
    assert (answer.status, answer.content) == ("failed", " w0 w1 w2")
    assert answer.error is not None
    assert answer.error["type"] == "server_error"
    assert await services.store.messages.get(answer.id) == answer


async def test_answer_that_cannot_be_stored_ends_run_with_error(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    engine.hold()
    run = await ask(services, conversation, "one")
    await services.store.close()
    engine.allow(None)
    frames = [frame async for frame in run.log.follow(0)]
    assert b"event: error" in frames[-1]
    assert b"storage_failed" in frames[-1]


async def test_stopping_server_leaves_runs_and_sends_farewell(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    engine.hold()
    run = await ask(services, conversation, "one")
    engine.allow(2)
    await until_text(run, " w0 w1")
    await services.model.host.stop(0)
    answer = await ended(run)
    assert answer.status == "in_progress"
    frames = [frame async for frame in run.log.follow(1)]
    assert b"event: server_restart" in frames[-1]
    left = await services.store.runs.find(run.id)
    assert left is not None
    assert left.deltas == [Delta(2, " w0"), Delta(3, " w1")]
    with pytest.raises(NotReadyError):
        await ask(services, conversation, "two")


async def test_follower_is_sent_away_if_only_the_engine_ends_a_run(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    engine.hold()
    run = await ask(services, conversation, "one")
    engine.allow(2)
    await until_text(run, " w0 w1")
    assert run.abort is not None
    run.abort()
    async with asyncio.timeout(20):
        frames = [frame async for frame in run.log.follow(1)]
    assert b"event: server_restart" in frames[-1]


async def test_followers_of_a_stopping_server_are_held_until_dismissed(
    services: Services, engine: ReplayEngine
) -> None:
    runs = RunRegistry(services.store.runs, services.records.shared_runs, keep_runs=1)
    turns = Turns(services.model.host, services.store, runs, services.access.gates.of("local"))
    engine.hold()
    held = []
    for content in ("one", "two"):
        conversation = await services.store.conversations.create({})
        held.append(await turns.ask(conversation.id, NewMessage(content=content)))
    runs.hold_followers()
    await services.model.host.stop(0)
    await runs.join()
    reading = [asyncio.ensure_future(anext(run.log.follow(1))) for run in held]
    # Each reader waits for an event by now.
    await asyncio.sleep(0)
    assert not any(each.done() for each in reading)
    runs.interrupt()
    async with asyncio.timeout(20):
        for frame in await asyncio.gather(*reading):
            assert b"event: server_restart" in frame


async def test_progress_of_running_answer_is_saved(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    class Watched(RunStore):
        saved = asyncio.Event()

        async def save_progress(self, progress: Iterable[RunProgress]) -> dict[str, StoredLength]:
            behind = await super().save_progress(progress)
            self.saved.set()
            return behind

    watched = Watched(services.store.database, "local")
    store, runs = (
        replace(services.store, runs=watched),
        RunRegistry(watched, services.records.shared_runs, save_seconds=0.001),
    )
    engine.hold()
    turns = Turns(services.model.host, store, runs, services.access.gates.of("local"))
    run = await turns.ask(conversation.id, NewMessage(content="one"))
    for _ in range(3):
        watched.saved.clear()
        engine.allow(1)
        async with asyncio.timeout(20):
            await watched.saved.wait()
    left = await store.runs.find(run.id)
    assert left is not None
    assert left.deltas == [Delta(2, " w0"), Delta(3, " w1"), Delta(4, " w2")]
    assert len(unpack_ids(left.token_ids)) == 3
    engine.allow(None)
    await runs.join()
    assert (await store.messages.get(run.answer.id)).content == WHOLE_ANSWER


async def test_shown_path_has_current_text_of_running_answer(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    engine.hold()
    run = await ask(services, conversation, "one")
    engine.allow(2)
    await until_text(run, " w0 w1")
    [shown] = [
        part async for part in services.turns.shown_path(await services.store.conversations.get(conversation.id))
    ]
    assert [message.content for message in shown] == ["one", " w0 w1"]


async def test_only_newest_ended_runs_are_kept(services: Services, conversation: Conversation) -> None:
    runs = RunRegistry(services.store.runs, services.records.shared_runs, keep_runs=2)
    turns = Turns(services.model.host, services.store, runs, services.access.gates.of("local"))
    made = []
    for content in ("one", "two", "three"):
        made.append(await turns.ask(conversation.id, NewMessage(content=content)))
        await ended(made[-1])
    assert [runs.get(run.id, "local") is not None for run in made] == [False, True, True]
    await runs.join()


async def test_old_ended_run_is_dropped(services: Services, conversation: Conversation) -> None:
    runs = RunRegistry(services.store.runs, services.records.shared_runs, keep_seconds=0)
    turns = Turns(services.model.host, services.store, runs, services.access.gates.of("local"))
    run = await turns.ask(conversation.id, NewMessage(content="one"))
    await runs.join()
    # The timer is due, and one iteration of the event loop runs it.
    await asyncio.sleep(0)
    assert runs.get(run.id, "local") is None


async def test_ended_runs_share_one_timer(services: Services, conversation: Conversation) -> None:
    # A timer for each run would keep the context of its request for ten minutes.
    runs = RunRegistry(services.store.runs, services.records.shared_runs, keep_runs=2)
    turns = Turns(services.model.host, services.store, runs, services.access.gates.of("local"))
    for content in ("one", "two", "three", "four"):
        await ended(await turns.ask(conversation.id, NewMessage(content=content)))
    await runs.join()
    timers: list[asyncio.TimerHandle] = vars(asyncio.get_running_loop())["_scheduled"]
    now = asyncio.get_running_loop().time()
    assert sum(timer.when() > now + KEEP_SECONDS / 2 for timer in timers) == 1


async def test_repeated_question_returns_same_run_during_and_after(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    message_id = "msg_0123456789abcdef"
    engine.hold()
    runs = await asyncio.gather(*(ask(services, conversation, "one", id=message_id) for _ in range(3)))
    assert len({id(run) for run in runs}) == 1
    assert len(engine.requests) - engine.finished["abort"] == 1
    engine.allow(None)
    answer = await ended(runs[0])
    runs_of_another = RunRegistry(services.store.runs, services.records.shared_runs)
    forgetful = Turns(services.model.host, services.store, runs_of_another, services.access.gates.of("local"))
    late = await forgetful.ask(conversation.id, NewMessage(content="one", id=message_id))
    assert (late.id, late.answer, late.log.text) == (runs[0].id, answer, WHOLE_ANSWER)
    assert len(await services.store.messages.all_of(conversation.id)) == 2


async def test_repeated_retry_returns_same_run(
    services: Services, conversation: Conversation, engine: ReplayEngine
) -> None:
    first = await answered(services, conversation, "one")
    fields = RetryFields(id="msg_0123456789abcdef")
    run = await services.turns.retry(first.id, fields)
    assert await services.turns.retry(first.id, fields) is run
    await ended(run)
    assert run.answer.id == fields.id
    assert (await services.turns.retry(run.answer.parent_id or "", fields)).id == run.id


async def test_id_of_another_message_is_rejected(services: Services, conversation: Conversation) -> None:
    message_id = "msg_0123456789abcdef"
    answer = await answered(services, conversation, "one", id=message_id)
    elsewhere = await services.store.conversations.create({})
    for where, content in ((conversation, "two"), (elsewhere, "one")):
        with pytest.raises(ConflictError, match="Another message"):
            await ask(services, where, content, id=message_id)
    with pytest.raises(ConflictError, match="Another message"):
        await services.turns.retry(answer.id, RetryFields(id=message_id))
