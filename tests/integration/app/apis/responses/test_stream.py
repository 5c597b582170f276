"""Streamed responses and their followers, driven by OpenAI's own client over a real socket."""

import asyncio

import aiohttp
import pytest
from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent

from engine.api.outputs import RequestOutput
from engine.testing.replay_engine import FAILING
from engine.testing.script import ANSWER_WORDS
from tests.integration.responses_rig import NUM_TOKENS, WHOLE_ANSWER, Api, all_of, text_in, until_text

EVENTS_BEFORE = [
    ("response.created", 0),
    ("response.in_progress", 1),
    ("response.output_item.added", 2),
    ("response.content_part.added", 3),
]
EVENTS_BEHIND = [
    ("response.output_text.done", 4),
    ("response.content_part.done", 5),
    ("response.output_item.done", 6),
    ("response.completed", 7),
]


async def test_stream_has_all_events_in_order_numbered_by_token(client: AsyncOpenAI) -> None:
    events = await all_of(await client.responses.create(model="fake-1", input="hi", stream=True))
    kinds = [(event.type, event.sequence_number) for event in events]
    assert kinds[:4] == EVENTS_BEFORE
    assert kinds[-4:] == [(kind, number + NUM_TOKENS) for kind, number in EVENTS_BEHIND]
    assert {kind for kind, _ in kinds[4:-4]} == {"response.output_text.delta"}
    numbers = [number for _, number in kinds]
    assert numbers == sorted(set(numbers))
    assert text_in(events) == WHOLE_ANSWER
    first, last = events[0], events[-1]
    assert first.type == "response.created"
    assert last.type == "response.completed"
    assert (first.response.status, first.response.output, first.response.usage) == ("in_progress", [], None)
    assert last.response.output_text == WHOLE_ANSWER
    [item] = last.response.output
    for event in events[4:-2]:
        assert event.item_id == item.id  # type: ignore[union-attr]
        assert (event.output_index, event.content_index) == (0, 0)  # type: ignore[union-attr]
    assert last.response == await client.responses.retrieve(last.response.id)


async def test_each_engine_step_is_sent_as_one_event_at_once(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    events = aiter(stream)
    async with asyncio.timeout(20):
        for kind, _ in EVENTS_BEFORE[:2]:
            assert (await anext(events)).type == kind
        for step in range(3):
            api.engine.allow(1)
            for kind, _ in EVENTS_BEFORE[2:] if step == 0 else ():
                assert (await anext(events)).type == kind
            event = await anext(events)
            assert event.type == "response.output_text.delta"
            assert (event.delta, event.sequence_number, event.logprobs) == (f" w{step}", 4 + step, [])
    await stream.close()


async def test_reasoning_and_text_of_one_step_are_numbered_apart(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    [request] = api.engine.requests
    request.put(RequestOutput(request_id=request.request_id, text=" w0", token_ids=(1, 2, 3), reasoning="hm"))
    events = await until_text(aiter(stream), " w0")
    deltas = [(event.type, event.sequence_number) for event in events if event.type.endswith("text.delta")]
    assert deltas == [("response.reasoning_text.delta", 3 + 2), ("response.output_text.delta", 8 + 3)]
    await stream.close()


async def test_stream_helper_of_the_client_returns_the_same_answer(client: AsyncOpenAI) -> None:
    async with client.responses.stream(model="fake-1", input="hi") as stream:
        response = await stream.get_final_response()
    assert response.output_text == WHOLE_ANSWER


async def test_truncated_answer_ends_the_stream_with_incomplete(client: AsyncOpenAI) -> None:
    events = await all_of(await client.responses.create(model="fake-1", input="hi", stream=True, max_output_tokens=2))
    assert [event.type for event in events[-2:]] == ["response.output_item.done", "response.incomplete"]
    assert events[-1].sequence_number == 7 + 2


async def test_engine_failure_ends_the_stream_with_failed(client: AsyncOpenAI) -> None:
    *events, last = await all_of(await client.responses.create(model="fake-1", input=FAILING, stream=True))
    assert text_in(events) == " w0 w1 w2"
    assert last.type == "response.failed"
    assert last.response.status == "failed"
    assert last.response.error is not None
    assert last.response.error.code == "server_error"
    assert "failed" in last.response.error.message


async def test_stream_helper_resumes_after_any_event(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = aiter(await client.responses.create(model="fake-1", input="hi", background=True, stream=True))
    events: list[ResponseStreamEvent] = []
    for count in range(1, ANSWER_WORDS + 1):
        api.engine.allow(1)
        events += await until_text(stream, f" w{count - 1}")
    api.engine.allow(None)
    events += await all_of(stream)
    assert events[0].type == "response.created"
    assert len(events) == len(EVENTS_BEFORE) + ANSWER_WORDS + len(EVENTS_BEHIND)
    for index, event in enumerate(events):
        after = event.sequence_number
        async with client.responses.stream(response_id=events[0].response.id, starting_after=after) as again:
            rest = [each async for each in again]
            assert (await again.get_final_response()).output_text == WHOLE_ANSWER
        assert [each.sequence_number for each in rest] == [each.sequence_number for each in events[index + 1 :]]
        assert text_in(events[: index + 1]) + "".join(
            each.delta for each in rest if each.type == "response.output_text.delta"
        ) == WHOLE_ANSWER  # fmt: skip


async def test_many_clients_follow_one_response(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    streams = [await client.responses.retrieve(response.id, stream=True) for _ in range(10)]
    api.engine.allow(None)
    for events in await asyncio.gather(*(all_of(stream) for stream in streams)):
        assert text_in(events) == WHOLE_ANSWER


@pytest.mark.parametrize("stream", [False, True])
async def test_disconnect_cancels_response_and_keeps_partial_text(client: AsyncOpenAI, api: Api, stream: bool) -> None:
    api.engine.hold()
    asked = asyncio.create_task(client.responses.create(model="fake-1", input="hi", stream=stream))
    await api.engine.until_running(1)
    api.engine.allow(2)
    await api.engine.until_produced(api.engine.requests[0], 2)
    if stream:
        await (await asked).close()  # type: ignore[union-attr]
    else:
        asked.cancel()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 1}
    await api.services.records.runs.join()
    [row] = await api.services.store.database.read("SELECT message_id FROM response")
    kept = await client.responses.retrieve(row["message_id"].replace("msg_", "resp_"))
    assert (kept.status, kept.output_text) == ("cancelled", " w0 w1")


async def test_non_numeric_starting_after_is_refused(http: aiohttp.ClientSession) -> None:
    made = await (await http.post("/v1/responses", json={"model": "fake-1", "input": "hi"})).json()
    for query, param in (("stream=true&starting_after=soon", "starting_after"), ("include[]=x", "include")):
        response = await http.get(f"/v1/responses/{made['id']}?{query}")
        assert response.status == 400
        assert (await response.json())["error"]["param"] == param


async def test_server_stop_sends_an_error_to_followers(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", background=True, stream=True)
    api.engine.allow(2)
    seen = await until_text(aiter(stream), " w0 w1")
    await api.services.model.host.stop(0)
    [last] = await all_of(stream)
    assert last.type == "error"
    assert (last.code, last.sequence_number) == ("server_restart", seen[-1].sequence_number)
