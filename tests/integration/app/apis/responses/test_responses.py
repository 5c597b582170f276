"""Responses API, driven by OpenAI's own client over a real socket."""

import json
from typing import Any

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response, ResponseOutputMessage

from engine.testing.byte_chat_format import REFUSED
from engine.testing.replay_engine import FAILING, WINDOW
from tests.integration.conversations_client import error_of, read
from tests.integration.responses_rig import NUM_TOKENS, WHOLE_ANSWER, Api, all_of, prompt


async def test_response_has_text_status_and_receipt(client: AsyncOpenAI, api: Api) -> None:
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


async def test_responses_and_events_have_every_declared_field(client: AsyncOpenAI) -> None:
    made = await client.responses.create(model="fake-1", input="hi")
    Response.model_validate(made.to_dict(), strict=False)
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    for event in await all_of(stream):
        type(event).model_validate(event.to_dict())


async def test_input_messages_may_be_text_or_content_parts(client: AsyncOpenAI, api: Api) -> None:
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
    said = "<system\nBe kind.><system\nBe brief.><user\nhi><assistant\nYes?><user\nand?><assistant\n"
    assert prompt(api, 0) == said


@pytest.mark.parametrize("stream", [False, True])
async def test_history_kept_by_the_client_is_cached(client: AsyncOpenAI, api: Api, stream: bool) -> None:
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


async def test_counted_tokens_equal_those_of_the_prompt(client: AsyncOpenAI) -> None:
    first = await client.responses.create(model="fake-1", input="one", instructions="Rhyme.")
    asked: dict[str, Any] = {"input": "two", "previous_response_id": first.id, "instructions": "Shout."}
    counted = await client.responses.input_tokens.count(model="fake-1", **asked)
    second = await client.responses.create(model="fake-1", **asked)
    assert second.usage is not None
    assert counted.input_tokens == second.usage.input_tokens
    with pytest.raises(openai.NotFoundError):
        await client.responses.input_tokens.count(model="other", input="hi")


async def test_reference_stands_for_the_stored_item(client: AsyncOpenAI, api: Api) -> None:
    history: Any = [{"role": "user", "content": "one"}]
    first = await client.responses.create(model="fake-1", input=history)
    history += [{"type": "item_reference", "id": item.id} for item in first.output]
    history += [{"type": "item_reference", "id": "rs_0"}, {"role": "user", "content": "two"}]
    second = await client.responses.create(model="fake-1", input=history)
    assert prompt(api, 1) == f"<user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><assistant\n"
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens_details.cached_tokens == first.usage.total_tokens


async def test_reference_may_come_without_its_type(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    history: Any = [{"id": first.output[0].id}, {"id": first.output[0].id, "type": None}]
    await client.responses.create(model="fake-1", input=[*history, {"role": "user", "content": "two"}])
    assert prompt(api, 1).count(WHOLE_ANSWER) == 2


async def test_reference_to_unknown_item_is_a_bad_request(client: AsyncOpenAI) -> None:
    for missing in ("msg_none", "fc_none_0", "x"):
        history: Any = [{"role": "user", "content": "one"}, {"type": "item_reference", "id": missing}]
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model="fake-1", input=history)
        assert (caught.value.code, caught.value.param) == ("item_not_found", "input[1].id")


async def test_include_is_accepted_where_nothing_is_missed(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="fake-1", input="hi", include=["reasoning.encrypted_content"])
    await client.responses.retrieve(response.id, include=["reasoning.encrypted_content"])
    unknown: Any = ["usage.details"]
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.create(model="fake-1", input="hi", include=unknown)
    assert refused.value.param == "include[0]"
    with pytest.raises(openai.BadRequestError) as refused:
        await client.responses.retrieve(response.id, include=unknown)
    assert refused.value.param == "include"


async def test_next_response_begins_with_all_previous_tokens(client: AsyncOpenAI, api: Api) -> None:
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


async def test_next_response_keeps_tokens_of_several_messages(client: AsyncOpenAI, api: Api) -> None:
    items: Any = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    first = await client.responses.create(model="fake-1", input=items)
    second = await client.responses.create(model="fake-1", input=items, previous_response_id=first.id)
    await client.responses.create(model="fake-1", input="c", previous_response_id=second.id)
    turn = f"<user\na><user\nb><assistant\n{WHOLE_ANSWER}>"
    assert prompt(api, 2) == f"{turn}{turn}<user\nc><assistant\n"
    for earlier, later in zip(api.engine.requests, api.engine.requests[1:], strict=False):
        so_far = (*earlier.prompt, *earlier.produced)
        assert later.prompt[: len(so_far)] == so_far


async def test_response_can_be_continued_more_than_once(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    for text in ("left", "right"):
        await client.responses.create(model="fake-1", input=text, previous_response_id=first.id)
    assert "left" not in prompt(api, 2)
    assert prompt(api, 2).endswith(f"{WHOLE_ANSWER}><user\nright><assistant\n")


async def test_instructions_apply_to_one_response_only(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one", instructions="Rhyme.")
    second = await client.responses.create(model="fake-1", input="two", previous_response_id=first.id)
    third = await client.responses.create(
        model="fake-1", input="three", previous_response_id=second.id, instructions="Shout."
    )
    assert second.instructions is None
    assert prompt(api, 1) == f"<user\none><assistant\n{WHOLE_ANSWER}><user\ntwo><assistant\n"
    assert prompt(api, 2).startswith("<system\nShout.><user\none>")
    assert (await client.responses.retrieve(third.id)).instructions == "Shout."


async def test_unknown_previous_response_is_a_bad_request(client: AsyncOpenAI) -> None:
    for missing in ("resp_none", "msg_none", ""):
        with pytest.raises(openai.BadRequestError) as caught:
            await client.responses.create(model="fake-1", input="hi", previous_response_id=missing)
        assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")


async def test_answer_cut_by_max_output_tokens_is_incomplete(client: AsyncOpenAI) -> None:
    response = await client.responses.create(model="fake-1", input="hi", max_output_tokens=3)
    assert (response.status, response.output_text, response.max_output_tokens) == ("incomplete", " w0 w1 w2", 3)
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    [item] = response.output
    assert isinstance(item, ResponseOutputMessage)
    assert item.status == "incomplete"


async def test_engine_failure_is_a_server_error_without_stream(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await client.responses.create(model="fake-1", input=FAILING)
    assert caught.value.type == "server_error"


async def test_unstored_response_leaves_nothing(client: AsyncOpenAI, api: Api) -> None:
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
    assert api.services.records.runs.get(None, "local") is None


async def test_unstored_response_may_follow_a_stored_one(client: AsyncOpenAI, api: Api) -> None:
    first = await client.responses.create(model="fake-1", input="one")
    await client.responses.create(model="fake-1", input="two", previous_response_id=first.id, store=False)
    assert prompt(api, 1).endswith(f"{WHOLE_ANSWER}><user\ntwo><assistant\n")
    assert len(await api.services.store.database.read("SELECT * FROM message")) == 2


async def test_deleting_a_response_deletes_its_text(client: AsyncOpenAI, api: Api) -> None:
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


async def test_deleted_response_stays_in_prompts_of_its_successors(client: AsyncOpenAI, api: Api) -> None:
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


async def test_input_items_are_all_messages_before_the_answer(client: AsyncOpenAI) -> None:
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


async def test_responses_are_not_in_the_chat_list(client: AsyncOpenAI, http: aiohttp.ClientSession) -> None:
    await client.responses.create(model="fake-1", input="hi")
    assert (await (await http.get("/api/conversations")).json())["data"] == []


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": "x" * WINDOW}, "input"),
        ({"input": [{"role": "user", "content": "x"}, {"role": "user", "content": REFUSED}]}, "input"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"tools": [{"type": "foo", "name": "x"}]}, "tools[0].type"),
        ({"conversation": "conv_a", "previous_response_id": "resp_a"}, "conversation"),
        ({"store": False, "background": True}, "store"),
        ({"store": False, "conversation": "conv_a"}, "store"),
    ],
    ids=["window", "template", "max_output_tokens", "tools", "both", "background", "conversation"],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_invalid_request_is_refused_and_stores_nothing(
    client: AsyncOpenAI, api: Api, fields: dict[str, Any], param: str, stream: bool
) -> None:
    body = {"model": "fake-1", "input": "hi", "stream": stream, **fields}
    with pytest.raises(openai.BadRequestError) as caught:
        await client.post("/responses", body=body, cast_to=object)
    assert (caught.value.param, caught.value.type) == (param, "invalid_request_error")
    assert await api.services.store.database.read("SELECT * FROM conversation") == []


async def test_unknown_ids_are_not_found(client: AsyncOpenAI) -> None:
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


async def test_stored_responses_are_listed_searched_and_deleted(
    client: AsyncOpenAI, http: aiohttp.ClientSession
) -> None:
    first = await client.responses.create(model="fake-1", input="When is high tide?")
    await client.responses.create(model="fake-1", input="And low tide?", previous_response_id=first.id)
    await client.responses.create(model="fake-1", input="A tide that is not kept", store=False)
    assert (await read(http, "/api/conversations"))["data"] == []
    [listed] = (await read(http, "/api/conversations", source="response"))["data"]
    assert listed["source"] == "response"
    assert (await read(http, "/api/search", q="tide"))["messages"] == []
    found = (await read(http, "/api/search", q="tide", source="response"))["messages"]
    assert [each["snippet"]["text"] for each in found] == ["And low tide?", "When is high tide?"]
    tree = await read(http, f"/api/conversations/{listed['id']}/tree")
    assert first.id.replace("resp_", "msg_") in json.dumps(tree)
    assert (await http.delete(f"/api/conversations/{listed['id']}")).status == 204
    assert (await read(http, "/api/conversations", source="response"))["data"] == []
    assert (await error_of(await http.get("/api/conversations?source=page"), 400))["param"] == "source"
