"""Background responses: polled, resumed, cancelled and deleted."""

import asyncio

import openai
import pytest
from openai import AsyncOpenAI

from tests.integration.responses_rig import WHOLE_ANSWER, Api, all_of, text_in, until_text


async def test_background_response_is_polled_until_complete(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    assert (response.status, response.background, response.output) == ("in_progress", True, [])
    api.engine.allow(None)
    async with asyncio.timeout(20):
        while response.status == "in_progress":
            response = await client.responses.retrieve(response.id)
    assert (response.status, response.output_text) == ("completed", WHOLE_ANSWER)


async def test_background_stream_outlives_its_client_and_resumes(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", background=True, stream=True)
    api.engine.allow(2)
    seen = await until_text(aiter(stream), " w0 w1")
    await stream.close()
    api.engine.allow(None)
    await api.engine.until_running(0)
    assert seen[0].type == "response.created"
    response_id, last = seen[0].response.id, seen[-1].sequence_number
    assert last == 5
    rest = await all_of(await client.responses.retrieve(response_id, stream=True, starting_after=last))
    assert [event.sequence_number > last for event in rest] == [True] * len(rest)
    assert text_in(seen) + text_in(rest) == WHOLE_ANSWER
    assert rest[-1].type == "response.completed"


async def test_cancel_keeps_partial_text_and_is_idempotent(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", background=True, stream=True)
    events = aiter(stream)
    api.engine.allow(2)
    seen = await until_text(events, " w0 w1")
    assert seen[0].type == "response.created"
    cancelled = await client.responses.cancel(seen[0].response.id)
    assert (cancelled.status, cancelled.output_text) == ("cancelled", " w0 w1")
    assert await client.responses.cancel(cancelled.id) == cancelled
    rest = await all_of(events)
    assert rest[-1].type == "response.incomplete"
    assert rest[-1].response.status == "cancelled"


async def test_only_background_responses_can_be_cancelled(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="fake-1", input="hi")
    with pytest.raises(openai.BadRequestError, match="background"):
        await client.responses.cancel(response.id)


async def test_deleting_a_running_response_leaves_nothing(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    await client.responses.delete(response.id)
    assert api.engine.running == 0
    assert await api.services.store.database.read("SELECT * FROM message") == []


async def test_continuing_a_running_response_is_a_conflict(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    with pytest.raises(openai.ConflictError):
        await client.responses.create(model="fake-1", input="and?", previous_response_id=response.id)
