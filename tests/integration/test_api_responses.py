"""Responses, driven by OpenAI's own client over a real socket."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseOutputMessage, ResponseStreamEvent

from engine.outputs import RequestOutput
from tests.integration.api_server import RunningServer
from tests.unit.fake_engine import ANSWER_WORDS, FAILING, WINDOW, FakeEngine, text_of

Api = RunningServer[FakeEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
NUM_TOKENS = ANSWER_WORDS + 1
LONG = {"ignore_eos": True}


@pytest.fixture
async def client(api: Api) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        yield client


def text_in(events: list[ResponseStreamEvent]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


async def all_of(stream: Any) -> list[ResponseStreamEvent]:
    async with asyncio.timeout(20):
        return [event async for event in stream]


async def until_text(stream: Any, text: str) -> list[ResponseStreamEvent]:
    """The events up to the one with which `text` has come."""
    seen: list[ResponseStreamEvent] = []
    async with asyncio.timeout(20):
        while text_in(seen) != text:
            seen.append(await anext(stream))
    return seen


def prompt(api: Api, index: int) -> str:
    return text_of(api.engine.requests[index].prompt)


async def test_a_response_has_text_status_and_usage_with_the_receipt(client: AsyncOpenAI, api: Api) -> None:
    response = await client.responses.create(
        model="fake-1", input="hi", instructions="Be brief.", metadata={"a": "b"}, temperature=0.5, top_p=0.7
    )
    assert response.output_text == WHOLE_ANSWER
    assert (response.status, response.error, response.incomplete_details) == ("completed", None, None)
    assert prompt(api, 0) == "<system\nBe brief.><user\nhi><assistant\n"
    assert (response.instructions, response.metadata) == ("Be brief.", {"a": "b"})
    assert (response.temperature, response.top_p, response.model) == (0.5, 0.7, "fake-1")
    assert response.completed_at is not None
    assert response.usage is not None
    assert response.usage.input_tokens == len(api.engine.requests[0].prompt)
    assert response.usage.output_tokens == NUM_TOKENS
    assert response.usage.total_tokens == response.usage.input_tokens + NUM_TOKENS
    assert response.usage.output_tokens_details.reasoning_tokens == 0
    assert response.usage.to_dict()["kv"]["computed"] == response.usage.input_tokens  # type: ignore[index]


async def test_what_comes_has_every_field_that_the_package_declares(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="fake-1", input="hi")
    Response.model_validate(made.to_dict(), strict=False)
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    for event in await all_of(stream):
        type(event).model_validate(event.to_dict())


async def test_the_messages_of_the_input_come_in_both_forms_and_in_parts(client: AsyncOpenAI, api: Api) -> None:
    items: Any = [
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": part} for part in "hi"]},
        {
            "type": "message",
            "id": "msg_earlier",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Yes?", "annotations": [], "logprobs": []}],
        },
        {"role": "user", "content": "and?"},
    ]
    await client.responses.create(model="fake-1", input=items, instructions="Be kind.")
    said = "<system\nBe kind.\n\nBe brief.><user\nhi><assistant\nYes?><user\nand?><assistant\n"
    assert prompt(api, 0) == said


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_may_keep_the_history_itself_and_its_answers_are_cached(
    client: AsyncOpenAI, api: Api, stream: bool
) -> None:
    history: Any = [{"role": "user", "content": "one"}]
    if stream:
        async with client.responses.stream(model="fake-1", input=history, store=False) as events:
            first: Response = await events.get_final_response()
    else:
        first = await client.responses.create(model="fake-1", input=history, store=False)
    history += first.output
    history += [{"role": "user", "content": "two"}]
    second = await client.responses.create(model="fake-1", input=history)
    assert prompt(api, 1) == f"<user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><assistant\n"
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens_details.cached_tokens == first.usage.total_tokens
    await client.responses.create(model="fake-1", input="three", previous_response_id=second.id)
    before = api.engine.requests[1]
    assert api.engine.requests[2].prompt[: second.usage.total_tokens] == (*before.prompt, *before.produced)


async def test_the_next_response_begins_with_every_token_of_those_before_it(client: AsyncOpenAI, api: Api) -> None:
    previous: str | None = None
    for text in ("one", "two", "three"):
        response = await client.responses.create(model="fake-1", input=text, previous_response_id=previous)
        assert response.previous_response_id == previous
        previous = response.id
    for earlier, later in zip(api.engine.requests, api.engine.requests[1:], strict=False):
        so_far = (*earlier.prompt, *earlier.produced)
        assert later.prompt[: len(so_far)] == so_far
    assert response.usage is not None
    assert response.usage.input_tokens_details.cached_tokens == len((*earlier.prompt, *earlier.produced))


async def test_several_messages_at_once_are_gone_on_from_by_their_tokens_too(client: AsyncOpenAI, api: Api) -> None:
    items: Any = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    first = await client.responses.create(model="fake-1", input=items)
    second = await client.responses.create(model="fake-1", input=items, previous_response_id=first.id)
    await client.responses.create(model="fake-1", input="c", previous_response_id=second.id)
    turn = f"<user\na><user\nb><assistant\n{WHOLE_ANSWER}>"
    assert prompt(api, 2) == f"{turn}{turn}<user\nc><assistant\n"
    for earlier, later in zip(api.engine.requests, api.engine.requests[1:], strict=False):
        so_far = (*earlier.prompt, *earlier.produced)
        assert later.prompt[: len(so_far)] == so_far


async def test_a_response_can_be_gone_on_from_more_than_once(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    for text in ("left", "right"):
        await client.responses.create(model="fake-1", input=text, previous_response_id=first.id)
    assert "left" not in prompt(api, 2)
    assert prompt(api, 2).endswith(f"{WHOLE_ANSWER}><user\nright><assistant\n")


async def test_instructions_belong_to_the_one_response(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one", instructions="Rhyme.")
    second = await client.responses.create(model="fake-1", input="two", previous_response_id=first.id)
    third = await client.responses.create(
        model="fake-1", input="three", previous_response_id=second.id, instructions="Shout."
    )
    assert second.instructions is None
    assert prompt(api, 1) == f"<user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><assistant\n"
    assert prompt(api, 2).startswith("<system\nShout.><user\none>")
    assert (await client.responses.retrieve(third.id)).instructions == "Shout."


async def test_a_previous_response_that_is_not_there_is_a_wrong_request(client: AsyncOpenAI) -> None:
    for missing in ("resp_none", "msg_none", ""):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model="fake-1", input="hi", previous_response_id=missing)
        assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")


async def test_an_answer_that_is_cut_by_its_limit_is_incomplete(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="fake-1", input="hi", max_output_tokens=3)
    assert (response.status, response.output_text, response.max_output_tokens) == ("incomplete", " w0 w1 w2", 3)
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    [item] = response.output
    assert isinstance(item, ResponseOutputMessage)
    assert item.status == "incomplete"


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


async def test_a_stream_has_all_events_in_their_order_with_numbers_that_count_tokens(client: AsyncOpenAI) -> None:
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


async def test_each_step_of_the_engine_is_one_event_as_it_happens(client: AsyncOpenAI, api: Api) -> None:
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


async def test_a_thought_and_text_that_come_at_once_have_the_numbers_that_they_have_apart(
    client: AsyncOpenAI, api: Api
) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    [request] = api.engine.requests
    request.put(RequestOutput(request.request_id, " w0", (1, 2, 3), reasoning="hm"))
    events = await until_text(aiter(stream), " w0")
    deltas = [(event.type, event.sequence_number) for event in events if event.type.endswith("text.delta")]
    assert deltas == [("response.reasoning_text.delta", 3 + 2), ("response.output_text.delta", 8 + 3)]
    await stream.close()


async def test_the_stream_helper_of_the_client_accumulates_the_same_answer(client: AsyncOpenAI) -> None:
    async with client.responses.stream(model="fake-1", input="hi") as stream:
        response = await stream.get_final_response()
    assert response.output_text == WHOLE_ANSWER


async def test_a_cut_answer_ends_its_stream_with_incomplete(client: AsyncOpenAI) -> None:
    events = await all_of(await client.responses.create(model="fake-1", input="hi", stream=True, max_output_tokens=2))
    assert [event.type for event in events[-2:]] == ["response.output_item.done", "response.incomplete"]
    assert events[-1].sequence_number == 7 + 2


async def test_an_engine_that_fails_ends_a_stream_with_failed(client: AsyncOpenAI) -> None:
    *events, last = await all_of(await client.responses.create(model="fake-1", input=FAILING, stream=True))
    assert text_in(events) == " w0 w1 w2"
    assert last.type == "response.failed"
    assert last.response.status == "failed"
    assert last.response.error is not None
    assert last.response.error.code == "server_error"
    assert "failed" in last.response.error.message


async def test_an_engine_that_fails_is_a_server_error_when_not_streamed(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await client.responses.create(model="fake-1", input=FAILING)
    assert caught.value.type == "server_error"


async def test_a_response_in_the_background_is_looked_at_until_it_is_there(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    assert (response.status, response.background, response.output) == ("in_progress", True, [])
    api.engine.allow(None)
    async with asyncio.timeout(20):
        while response.status == "in_progress":
            response = await client.responses.retrieve(response.id)
    assert (response.status, response.output_text) == ("completed", WHOLE_ANSWER)


async def test_a_stream_in_the_background_goes_on_without_its_client_which_comes_back(
    client: AsyncOpenAI, api: Api
) -> None:
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


async def test_the_stream_helper_comes_back_after_any_event_it_saw(client: AsyncOpenAI, api: Api) -> None:
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


async def test_many_may_follow_one_response_at_once(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    streams = [await client.responses.retrieve(response.id, stream=True) for _ in range(10)]
    api.engine.allow(None)
    for events in await asyncio.gather(*(all_of(stream) for stream in streams)):
        assert text_in(events) == WHOLE_ANSWER


@pytest.mark.parametrize("stream", [False, True])
async def test_without_background_a_client_that_leaves_ends_it_and_what_came_is_kept(
    client: AsyncOpenAI, api: Api, stream: bool
) -> None:
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
    await api.services.runs.join()
    [row] = await api.services.store.database.read("SELECT message_id FROM response")
    kept = await client.responses.retrieve(row["message_id"].replace("msg_", "resp_"))
    assert (kept.status, kept.output_text) == ("cancelled", " w0 w1")


async def test_cancel_keeps_the_text_so_far_and_says_the_same_again(client: AsyncOpenAI, api: Api) -> None:
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


async def test_only_what_is_in_the_background_can_be_cancelled(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="fake-1", input="hi")
    with pytest.raises(openai.BadRequestError, match="background"):
        await client.responses.cancel(response.id)


async def test_what_is_not_stored_is_not_there_afterwards(client: AsyncOpenAI, api: Api) -> None:
    whole = await client.responses.create(model="fake-1", input="hi", store=False)
    events = await all_of(await client.responses.create(model="fake-1", input="hi", store=False, stream=True))
    assert events[-1].type == "response.completed"
    assert (whole.to_dict()["store"], events[-1].response.to_dict()["store"]) == (False, False)
    for gone in (whole.id, events[-1].response.id):
        with pytest.raises(openai.NotFoundError):
            await client.responses.retrieve(gone)
        with pytest.raises(openai.BadRequestError):
            await client.responses.create(model="fake-1", input="and?", previous_response_id=gone)
    for table in ("conversation", "message", "response"):
        assert await api.services.store.database.read(f"SELECT * FROM {table}") == []
    assert api.services.runs.get(None, "local") is None


async def test_what_is_not_stored_may_follow_what_is(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    await client.responses.create(model="fake-1", input="two", previous_response_id=first.id, store=False)
    assert prompt(api, 1).endswith(f"{WHOLE_ANSWER}><user\ntwo><assistant\n")
    assert len(await api.services.store.database.read("SELECT * FROM message")) == 2


async def test_a_deleted_response_is_gone_with_its_text(client: AsyncOpenAI, api: Api) -> None:
    response = await client.responses.create(model="fake-1", input="a secret")
    await client.responses.delete(response.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(response.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.delete(response.id)
    for table in ("conversation", "message", "response"):
        assert await api.services.store.database.read(f"SELECT * FROM {table}") == []
    [trail] = await api.engine.until_erased(1)
    assert trail.num_shared == 0


async def test_of_a_deleted_response_stays_what_others_follow(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    second = await client.responses.create(model="fake-1", input="two", previous_response_id=first.id)
    await client.responses.delete(first.id)
    with pytest.raises(openai.BadRequestError):
        await client.responses.create(model="fake-1", input="other", previous_response_id=first.id)
    await client.responses.create(model="fake-1", input="three", previous_response_id=second.id)
    assert prompt(api, 2).startswith("<user\none><assistant\n")
    for left in await api.services.store.database.read("SELECT message_id FROM response ORDER BY message_id DESC"):
        await client.responses.delete(left["message_id"].replace("msg_", "resp_"))
    assert await api.services.store.database.read("SELECT * FROM message") == []


async def test_a_response_that_is_deleted_while_it_comes_leaves_nothing(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    await client.responses.delete(response.id)
    assert api.engine.running == 0
    assert await api.services.store.database.read("SELECT * FROM message") == []


async def test_the_input_of_a_response_is_all_that_it_answers(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    second = await client.responses.create(model="fake-1", input="two", previous_response_id=first.id)
    items = [item async for item in client.responses.input_items.list(second.id, order="asc", limit=2)]
    assert [(item.role, item.content[0].text) for item in items] == [  # type: ignore[union-attr, index]
        ("user", "one"),
        ("assistant", WHOLE_ANSWER),
        ("user", "two"),
    ]
    newest = await client.responses.input_items.list(second.id, limit=1)
    assert (newest.data[0].id, newest.has_more) == (items[-1].id, True)


async def test_responses_do_not_crowd_the_list_of_chats(client: AsyncOpenAI, http: aiohttp.ClientSession) -> None:
    await client.responses.create(model="fake-1", input="hi")
    assert (await (await http.get("/api/conversations")).json())["data"] == []


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": "x" * WINDOW}, "input"),
        ({"input": [{"role": "user", "content": "x"}, {"role": "system", "content": "late"}]}, "input"),
        ({"max_output_tokens": WINDOW}, "max_output_tokens"),
        ({"tools": [{"type": "web_search", "name": "x"}]}, "tools[0].type"),
        ({"conversation": "conv_a", "previous_response_id": "resp_a"}, "conversation"),
        ({"store": False, "background": True}, "store"),
        ({"store": False, "conversation": "conv_a"}, "store"),
    ],
    ids=["window", "template", "max_output_tokens", "tools", "both", "background", "conversation"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_wrong_request_is_refused_at_once_by_the_name_of_its_field_and_leaves_nothing(
    client: AsyncOpenAI, api: Api, fields: dict[str, Any], param: str, stream: bool
) -> None:
    body = {"model": "fake-1", "input": "hi", "stream": stream, **fields}
    with pytest.raises(openai.BadRequestError) as caught:
        await client.post("/responses", body=body, cast_to=object)
    assert (caught.value.param, caught.value.type) == (param, "invalid_request_error")
    assert await api.services.store.database.read("SELECT * FROM conversation") == []


async def test_what_does_not_exist_is_not_found(client: AsyncOpenAI) -> None:
    responses = client.responses
    for call in (
        responses.retrieve("resp_none"),
        responses.retrieve("resp_none", stream=True),
        responses.cancel("resp_none"),
        responses.delete("resp_none"),
        responses.create(model="other", input="hi"),
        responses.create(model="fake-1", input="hi", conversation="conv_none"),
    ):
        with pytest.raises(openai.NotFoundError):
            await call
    with pytest.raises(openai.NotFoundError):
        await responses.input_items.list("resp_none")


async def test_to_go_on_from_what_is_still_being_said_is_a_conflict(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    response = await client.responses.create(model="fake-1", input="hi", background=True)
    with pytest.raises(openai.ConflictError):
        await client.responses.create(model="fake-1", input="and?", previous_response_id=response.id)


async def test_a_place_to_start_after_that_is_no_number_is_refused(http: aiohttp.ClientSession) -> None:
    made = await (await http.post("/v1/responses", json={"model": "fake-1", "input": "hi"})).json()
    for query, param in (("stream=true&starting_after=soon", "starting_after"), ("include[]=x", "include")):
        response = await http.get(f"/v1/responses/{made['id']}?{query}")
        assert response.status == 400
        assert (await response.json())["error"]["param"] == param


async def test_a_server_that_stops_says_so_to_those_who_follow(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", background=True, stream=True)
    api.engine.allow(2)
    seen = await until_text(aiter(stream), " w0 w1")
    await api.services.host.stop(0)
    [last] = await all_of(stream)
    assert last.type == "error"
    assert (last.code, last.sequence_number) == ("server_restart", seen[-1].sequence_number)
