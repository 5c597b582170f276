"""Responses of clients that send the whole conversation with every request: nothing is stored twice."""

from typing import Any

import pytest
from openai import AsyncOpenAI
from openai.types.responses import Response

from tests.integration.responses_rig import WHOLE_ANSWER, Api, prompt

TEXTS = ("conversation", "message", "response")


async def ask(client: AsyncOpenAI, history: list[Any], text: str, **fields: Any) -> str:
    """Ask a question after `history`, add both to it, and return the response's id."""
    history.append({"role": "user", "content": text})
    response: Response = await client.responses.create(model="fake-1", input=history, **fields)
    history += response.output
    return response.id


async def texts_of(client: AsyncOpenAI, response_id: str) -> list[str]:
    listed = client.responses.input_items.list(response_id, order="asc", limit=3)
    return [item.content[0].text async for item in listed]  # type: ignore[union-attr, index]


async def stored(api: Api, table: str) -> int:
    return len(await api.services.store.database.read(f"SELECT * FROM {table}"))


async def test_resent_conversation_is_stored_once(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = []
    ids = [await ask(client, history, text) for text in ("one", "two", "three")]
    assert [await stored(api, table) for table in TEXTS] == [1, 6, 3]
    assert prompt(api, 2).count(WHOLE_ANSWER) == 2
    assert await texts_of(client, ids[2]) == ["one", WHOLE_ANSWER, "two", WHOLE_ANSWER, "three"]
    assert await texts_of(client, ids[1]) == ["one", WHOLE_ANSWER, "two"]
    assert (await client.responses.retrieve(ids[2])).previous_response_id is None


async def test_stored_ids_of_shared_messages_continue_exactly(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = []
    for text in ("one", "two"):
        last = await ask(client, history, text)
    sizes = await api.services.store.database.read(
        "SELECT length(token_ids) / 4 AS num FROM message WHERE starts_prompt ORDER BY id"
    )
    assert [row["num"] for row in sizes] == [len(api.engine.requests[0].prompt)]
    await client.responses.create(model="fake-1", input="three", previous_response_id=last)
    before = api.engine.requests[1]
    assert api.engine.requests[2].prompt[: len(before.prompt)] == before.prompt


async def test_other_instructions_share_texts_and_keep_own_ids(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = []
    await ask(client, history, "one", instructions="Rhyme.")
    last = await ask(client, history, "two", instructions="Shout.")
    assert [await stored(api, table) for table in TEXTS] == [1, 4, 2]
    await client.responses.create(model="fake-1", input="three", previous_response_id=last, instructions="Shout.")
    assert prompt(api, 2) == prompt(api, 1) + f"{WHOLE_ANSWER}><user\nthree><assistant\n"


async def test_changed_answer_is_stored_after_its_question(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = []
    await ask(client, history, "one")
    changed = [history[0], {"role": "assistant", "content": "Mine."}]
    last = await ask(client, changed, "two")
    assert await texts_of(client, last) == ["one", "Mine.", "two"]
    assert [await stored(api, table) for table in TEXTS] == [1, 5, 2]


async def test_changed_question_is_stored_apart(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = []
    await ask(client, history, "one")
    history[0] = {"role": "user", "content": "ONE"}
    last = await ask(client, history, "two")
    assert await texts_of(client, last) == ["ONE", WHOLE_ANSWER, "two"]
    assert await stored(api, "conversation") == 2


async def test_same_question_alone_shares_nothing(client: AsyncOpenAI, api: Api) -> None:
    for _ in range(2):
        await ask(client, [], "one")
    assert [await stored(api, table) for table in TEXTS] == [2, 4, 2]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
async def test_deleted_responses_leave_what_others_need(client: AsyncOpenAI, api: Api, order: tuple[int, ...]) -> None:
    history: list[Any] = []
    ids = [await ask(client, history, text) for text in ("one", "two", "three")]
    left = ["one", WHOLE_ANSWER, "two", WHOLE_ANSWER, "three"]
    for number, place in enumerate(order, start=1):
        await client.responses.delete(ids[place])
        for kept in order[number:]:
            assert await texts_of(client, ids[kept]) == left[: 2 * kept + 1]
            assert (await client.responses.retrieve(ids[kept])).output_text == WHOLE_ANSWER
    assert [await stored(api, table) for table in TEXTS] == [0, 0, 0]


async def test_conversation_continues_after_deletion_of_its_response(client: AsyncOpenAI, api: Api) -> None:
    history: list[Any] = []
    first = await ask(client, history, "one")
    second = await ask(client, history, "two")
    await client.responses.delete(first)
    third = await ask(client, history, "three")
    assert await stored(api, "message") == 6
    for each in (second, third):
        await client.responses.delete(each)
    fourth = await ask(client, history, "four")
    assert len(await texts_of(client, fourth)) == 7


async def test_resent_conversation_costs_what_a_continued_one_does(client: AsyncOpenAI, api: Api) -> None:
    texts = [f"{number} {'tide ' * 40}" for number in range(10)]
    last = None
    for text in texts:
        last = (await client.responses.create(model="fake-1", input=text, previous_response_id=last)).id
    continued = await num_bytes(api)
    history: list[Any] = []
    for text in texts:
        await ask(client, history, text)
    assert await num_bytes(api) - continued == pytest.approx(continued, rel=0.01)


async def num_bytes(api: Api) -> int:
    """Return the number of bytes that are stored of messages and responses."""
    return (await api.services.store.limits.stored_bytes())["local"]
