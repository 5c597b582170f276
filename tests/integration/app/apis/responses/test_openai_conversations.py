"""OpenAI's Conversations API, driven by OpenAI's own client over a real socket."""

from typing import Any

import aiohttp
import openai
import pytest
from openai import AsyncOpenAI

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer
from tests.integration.sse_events import all_events

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
SAID: list[Any] = [
    {"type": "message", "role": "user", "content": "one"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "yes"}]},
]


async def texts_of(client: AsyncOpenAI, conversation_id: str, **query: Any) -> list[str]:
    return [
        item.content[0].text  # type: ignore[union-attr, index]
        async for item in client.conversations.items.list(conversation_id, **query)
    ]


async def respond(client: AsyncOpenAI, conversation: Any, text: str) -> openai.types.responses.Response:
    return await client.responses.create(model="fake-1", input=text, conversation=conversation)


async def test_conversation_is_created_updated_and_deleted(client: AsyncOpenAI) -> None:
    made = await client.conversations.create(metadata={"topic": "tides"})
    assert (made.object, made.metadata) == ("conversation", {"topic": "tides"})
    assert await client.conversations.retrieve(made.id) == made
    changed = await client.conversations.update(made.id, metadata={"topic": "rivers"})
    assert (changed.id, changed.metadata) == (made.id, {"topic": "rivers"})
    assert await client.conversations.retrieve(made.id) == changed
    deleted = await client.conversations.delete(made.id)
    assert (deleted.id, deleted.deleted, deleted.object) == (made.id, True, "conversation.deleted")
    for call in (client.conversations.retrieve(made.id), client.conversations.delete(made.id)):
        with pytest.raises(openai.NotFoundError):
            await call


async def test_responses_in_a_conversation_follow_one_another(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create()
    first = await respond(client, conversation.id, "one")
    second = await respond(client, {"id": conversation.id}, "two")
    assert first.conversation is not None
    assert second.conversation is not None
    assert first.conversation.id == second.conversation.id == conversation.id
    so_far = (*api.engine.requests[0].prompt, *api.engine.requests[0].produced)
    assert api.engine.requests[1].prompt[: len(so_far)] == so_far
    texts = await texts_of(client, conversation.id, order="asc")
    assert texts == ["one", WHOLE_ANSWER, "two", WHOLE_ANSWER]


async def test_response_to_a_previous_one_is_in_no_conversation(client: AsyncOpenAI) -> None:
    conversation = await client.conversations.create()
    first = await respond(client, conversation.id, "one")
    apart = await client.responses.create(model="fake-1", input="beside", previous_response_id=first.id)
    assert apart.conversation is None
    assert await texts_of(client, conversation.id, order="asc") == ["one", WHOLE_ANSWER]
    await client.responses.delete(apart.id)
    await client.responses.delete(first.id)
    assert await texts_of(client, conversation.id, order="asc") == ["one", WHOLE_ANSWER]


async def test_added_items_are_in_the_next_prompt_and_keep_tokens(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create(items=SAID)
    await respond(client, conversation.id, "two")
    added = await client.conversations.items.create(conversation.id, items=SAID)
    assert [item.role for item in added.data] == ["user", "assistant"]  # type: ignore[union-attr]
    await respond(client, conversation.id, "three")
    await respond(client, conversation.id, "four")
    said = "<user\none><assistant\nyes>"
    first = f"{said}<user\ntwo><assistant\n"
    second = f"{first}{WHOLE_ANSWER}>{said}<user\nthree><assistant\n"
    assert [text_of(request.prompt) for request in api.engine.requests] == [
        first,
        second,
        f"{second}{WHOLE_ANSWER}><user\nfour><assistant\n",
    ]


async def test_items_are_paged_in_both_orders(client: AsyncOpenAI) -> None:
    items: Any = [{"role": "user", "content": str(number)} for number in range(5)]
    conversation = await client.conversations.create(items=items)
    assert await texts_of(client, conversation.id) == ["4", "3", "2", "1", "0"]
    assert await texts_of(client, conversation.id, order="asc", limit=2) == ["0", "1", "2", "3", "4"]
    page = await client.conversations.items.list(conversation.id, limit=2)
    assert page.has_more
    rest = await texts_of(client, conversation.id, after=page.last_id)
    assert rest == ["2", "1", "0"]
    empty = await client.conversations.create()
    assert await texts_of(client, empty.id) == []


async def test_item_is_retrieved_and_deleted(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create()
    for text in ("one", "a secret", "two"):
        await respond(client, conversation.id, text)
    items = [item async for item in client.conversations.items.list(conversation.id, order="asc")]
    secret = items[2]
    assert secret.id is not None
    assert await client.conversations.items.retrieve(secret.id, conversation_id=conversation.id) == secret
    left = await client.conversations.items.delete(secret.id, conversation_id=conversation.id)
    assert left.id == conversation.id
    for call in (
        client.conversations.items.retrieve(secret.id, conversation_id=conversation.id),
        client.conversations.items.delete(secret.id, conversation_id=conversation.id),
    ):
        with pytest.raises(openai.NotFoundError):
            await call
    texts = await texts_of(client, conversation.id, order="asc")
    assert texts == ["one", WHOLE_ANSWER, WHOLE_ANSWER, "two", WHOLE_ANSWER]
    [trail] = await api.engine.until_erased(1)
    assert "a secret" in text_of(trail.token_ids)
    assert trail.num_shared == len(api.engine.requests[0].prompt) + len(api.engine.requests[0].produced)
    await respond(client, conversation.id, "three")
    assert text_of(api.engine.requests[3].prompt) == (
        f"<user\none><assistant\n{WHOLE_ANSWER}><assistant\n{WHOLE_ANSWER}>"
        f"<user\ntwo><assistant\n{WHOLE_ANSWER}><user\nthree><assistant\n"
    )


async def test_changed_items_raise_the_version(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create(items=SAID)

    async def version() -> int:
        return (await api.services.store.conversations.get(conversation.id)).version

    before = await version()
    added = await client.conversations.items.create(conversation.id, items=SAID)
    assert await version() == before + 1
    assert added.data[0].id is not None
    await client.conversations.items.delete(added.data[0].id, conversation_id=conversation.id)
    assert await version() == before + 2


async def test_deleted_answer_leaves_its_question_in_the_prompt(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create()
    response = await respond(client, conversation.id, "one")
    assert response.output[0].id is not None
    await client.conversations.items.delete(response.output[0].id, conversation_id=conversation.id)
    await respond(client, conversation.id, "two")
    assert text_of(api.engine.requests[1].prompt) == "<user\none><user\ntwo><assistant\n"


async def test_reuse_report_works_after_its_question_is_deleted(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create()
    await respond(client, conversation.id, "one")
    await respond(client, conversation.id, "two")
    async with aiohttp.ClientSession(api.url) as http:
        async with http.get(f"/api/conversations/{conversation.id}") as response:
            questions_and_runs = (await response.json())["messages"]
        for question, answer in (questions_and_runs[2:], questions_and_runs[:2]):
            await client.conversations.items.delete(question["id"], conversation_id=conversation.id)
            async with http.get(f"/api/runs/{answer['run_id']}/kv") as response:
                assert response.status == 200


async def test_conversation_is_locked_while_a_response_runs(client: AsyncOpenAI, api: Api) -> None:
    conversation = await client.conversations.create()
    api.engine.hold()
    await client.responses.create(model="fake-1", input="hi", conversation=conversation.id, background=True)
    for call in (
        respond(client, conversation.id, "and?"),
        client.conversations.items.create(conversation.id, items=SAID),
    ):
        with pytest.raises(openai.ConflictError) as caught:
            await call
        assert caught.value.code == "conversation_locked"


async def test_deleting_a_conversation_deletes_its_responses(client: AsyncOpenAI) -> None:
    conversation = await client.conversations.create()
    response = await respond(client, conversation.id, "one")
    await client.conversations.delete(conversation.id)
    with pytest.raises(openai.NotFoundError):
        await client.responses.retrieve(response.id)


async def test_chat_of_the_page_can_be_continued_over_both_apis(
    client: AsyncOpenAI, http: aiohttp.ClientSession, api: Api
) -> None:
    await client.conversations.create(items=SAID)
    chat = await (await http.post("/api/conversations", json={"system_prompt": "Be brief."})).json()
    assert [c["id"] for c in (await (await http.get("/api/conversations")).json())["data"]] == [chat["id"]]
    await client.conversations.items.create(chat["id"], items=SAID[:1])
    await all_events(await http.post(f"/api/conversations/{chat['id']}/messages", json={"content": "two"}))
    await respond(client, chat["id"], "three")
    assert text_of(api.engine.requests[1].prompt) == (
        f"<system\nBe brief.><user\none><user\ntwo><assistant\n{WHOLE_ANSWER}><user\nthree><assistant\n"
    )


CALL = {"type": "function_call", "call_id": "1", "name": "f"}


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("", {"metadata": {"k": "v" * 513}}, "metadata.k"),
        ("", {"metadata": {str(i): "" for i in range(17)}}, "metadata"),
        ("", {"items": [{"role": "user", "content": "x"}] * 21}, "items"),
        ("", {"items": [{**CALL, "arguments": 1}]}, "items[0].arguments"),
        ("/{id}", {}, "metadata"),
        ("/{id}/items", {"items": []}, "items"),
        ("/{id}/items", {"items": [{"role": "user", "content": [{"type": 5}]}]}, "items[0].content[0].type"),
    ],
)
async def test_invalid_body_is_refused_naming_the_field(
    client: AsyncOpenAI, http: aiohttp.ClientSession, path: str, body: dict[str, Any], param: str
) -> None:
    conversation = await client.conversations.create()
    response = await http.post(f"/v1/conversations{path.format(id=conversation.id)}", json=body)
    assert response.status == 400
    assert (await response.json())["error"]["param"] == param


@pytest.mark.parametrize(
    ("query", "param"), [("order=up", "order"), ("limit=0", "limit"), ("limit=101", "limit"), ("after=msg_no", "after")]
)
async def test_invalid_query_is_refused_naming_the_parameter(
    client: AsyncOpenAI, http: aiohttp.ClientSession, query: str, param: str
) -> None:
    conversation = await client.conversations.create()
    response = await http.get(f"/v1/conversations/{conversation.id}/items?{query}")
    assert response.status == 400
    assert (await response.json())["error"]["param"] == param
