"""Titles by the model: the real store and runs, an engine without a model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from app.idle import LAST
from app.records import Conversation
from app.runs import Run
from app.schemas.conversations import NewMessage
from app.schemas.parsing import parse_object
from app.services import Services
from app.title_maker import MAX_TOKENS, TitleMaker
from app.titles import BEGINNING, REQUEST
from engine.urgency import Urgency
from tests.unit.fake_engine import END, FAILING, WORDS, FakeEngine, FakeStream, text_of

pytest_plugins = ["tests.services_fixtures"]

TITLE = "Tides and the moon"


class NamingEngine(FakeEngine):
    """Asked for a title, it says one."""

    def _step(self, stream: FakeStream) -> None:
        words, count = TITLE.split(), len(stream.produced)
        if stream.keep_kv:
            super()._step(stream)
        elif count < len(words):
            self._say(stream, f" {words[count]}", WORDS + count)
        else:
            self._finish(stream, "", (END,), "stop")


@pytest.fixture
async def engine() -> AsyncIterator[FakeEngine]:
    engine = NamingEngine()
    await engine.start()
    yield engine
    await engine.stop(0)


@pytest.fixture
async def titles(services: Services) -> AsyncIterator[TitleMaker]:
    titles = TitleMaker(services.host, services.store, services.turns, poll_seconds=0.001)
    yield titles
    await titles.stop()


async def ask(services: Services, conversation: Conversation, content: str, **fields: Any) -> Run:
    return await services.turns.ask(conversation.id, parse_object(NewMessage, {"content": content, **fields}))


async def answered(services: Services, content: str, **fields: Any) -> tuple[Conversation, Run]:
    conversation = await services.store.conversations.create(fields)
    run = await ask(services, conversation, content)
    await run.ended.wait()
    return conversation, run


async def settled(titles: TitleMaker) -> None:
    """Every title that was to come is there."""
    async with asyncio.timeout(20):
        await titles.settled()


async def title_of(services: Services, conversation: Conversation) -> tuple[str | None, str | None]:
    found = await services.store.conversations.get(conversation.id)
    return found.title, found.title_source


async def test_the_first_answer_is_followed_by_a_title_of_the_model(
    services: Services, engine: FakeEngine, titles: TitleMaker
) -> None:
    conversation, run = await answered(services, "What is a tide?")
    assert await title_of(services, conversation) == ("What is a tide?", "first_message")
    version = (await services.store.conversations.get(conversation.id)).version
    titles.after(run)
    await settled(titles)
    assert await title_of(services, conversation) == (TITLE, "model")
    assert (await services.store.conversations.get(conversation.id)).version == version
    turn, request = engine.requests
    so_far = (*turn.prompt, *turn.produced)
    assert request.prompt[: len(so_far)] == so_far
    assert text_of(request.prompt[len(so_far) :]) == f"<user\n{REQUEST}><assistant\n{BEGINNING}"
    assert (request.urgency, request.keep_kv, request.params.max_tokens) == (Urgency(LAST), False, MAX_TOKENS)
    assert len(await services.store.messages.all_of(conversation.id)) == 2


async def test_a_persons_title_is_left_alone_and_nobody_is_asked(
    services: Services, engine: FakeEngine, titles: TitleMaker
) -> None:
    conversation, run = await answered(services, "What is a tide?", title="Mine")
    titles.after(run)
    await settled(titles)
    assert await title_of(services, conversation) == ("Mine", "user")
    assert len(engine.requests) == 1


async def test_a_title_that_a_person_gave_meanwhile_stays(
    services: Services, engine: FakeEngine, titles: TitleMaker
) -> None:
    conversation, run = await answered(services, "What is a tide?")
    engine.hold()
    titles.after(run)
    await engine.until_running(1)
    await services.store.conversations.change(conversation.id, {"title": "Mine"})
    engine.allow(None)
    await settled(titles)
    assert await title_of(services, conversation) == ("Mine", "user")


async def test_later_answers_and_those_that_failed_are_followed_by_none(
    services: Services, engine: FakeEngine, titles: TitleMaker
) -> None:
    conversation, _ = await answered(services, "What is a tide?")
    second = await ask(services, conversation, "And?")
    _, failed = await answered(services, FAILING)
    titles.after(second)
    titles.after(failed)
    await settled(titles)
    assert (await title_of(services, conversation))[1] == "first_message"
    assert len(engine.requests) == 3


async def test_it_waits_while_somebody_is_served(services: Services, engine: FakeEngine, titles: TitleMaker) -> None:
    conversation, run = await answered(services, "What is a tide?")
    engine.hold()
    other = await ask(services, await services.store.conversations.create({}), "Busy?")
    titles.after(run)
    # Some looks at the engine: each is a round of the loop and a timer of a millisecond.
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert engine.requests[-1].request_id.startswith(other.id)
    engine.allow(None)
    await settled(titles)
    assert (await title_of(services, conversation))[1] == "model"


async def test_it_is_given_up_when_somebody_comes_and_made_later(
    services: Services, engine: FakeEngine, titles: TitleMaker
) -> None:
    conversation, run = await answered(services, "What is a tide?")
    engine.hold()
    titles.after(run)
    await engine.until_running(1)
    [interrupted] = [stream for stream in engine.requests if not stream.keep_kv]
    other = await ask(services, await services.store.conversations.create({}), "Busy?")
    engine.allow(1)
    await engine.until_running(1)
    assert interrupted.request_id not in engine._live
    assert len(interrupted.produced) < len(TITLE.split())
    engine.allow(None)
    await other.ended.wait()
    await settled(titles)
    assert (await title_of(services, conversation))[1] == "model"
    assert len(asked_for_titles(engine)) == 2


async def test_a_failing_model_is_not_asked_again(services: Services, engine: FakeEngine, titles: TitleMaker) -> None:
    conversation, run = await answered(services, "What is a tide?")
    engine.hold()
    titles.after(run)
    await engine.until_running(1)
    engine.end(asked_for_titles(engine)[0], "error", "The model failed")
    engine.allow(None)
    await settled(titles)
    assert (await title_of(services, conversation))[1] == "first_message"
    assert len(asked_for_titles(engine)) == 1


async def test_a_conversation_that_goes_meanwhile_and_a_server_that_stops_harm_nothing(
    services: Services, engine: FakeEngine, titles: TitleMaker
) -> None:
    deleted, run = await answered(services, "What is a tide?")
    _, other = await answered(services, "What is a storm?")
    engine.hold()
    titles.after(run)
    titles.after(other)
    await engine.until_running(1)
    await services.deletions.delete_conversation(deleted.id)
    engine.allow(None)
    await services.host.stop(0)
    await settled(titles)
    await titles.stop()


def asked_for_titles(engine: FakeEngine) -> list[FakeStream]:
    return [stream for stream in engine.requests if not stream.keep_kv]
