"""Chats that continue without their first messages, over a real socket."""

from typing import Any

import aiohttp

from app.prompts.turn_prompt import SUMMARY_HEAD, SUMMARY_TASK
from engine.testing.replay_engine import WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer
from tests.integration.conversations_client import created, error_of, said, shown
from tests.integration.sse_events import all_events, events

Api = RunningServer[ReplayEngine]
LONG = "x" * (WINDOW // 3)


async def long_chat(http: aiohttp.ClientSession) -> str:
    """Create a conversation with two turns that fill two thirds of the window, and return its id."""
    conversation = await created(http, system_prompt="Be brief.")
    for number in ("one", "two"):
        await said(http, conversation, f"{number} {LONG}")
    return conversation


def prompt_of(api: Api) -> str:
    """Return the text of the newest request's prompt."""
    return api.engine.tokenizer.describe(api.engine.requests[-1].prompt)


async def size(http: aiohttp.ClientSession, conversation: str, content: str) -> dict[str, Any]:
    response = await http.post("/api/prompt-size", json={"conversation_id": conversation, "content": content})
    assert response.status == 200, await response.text()
    found: dict[str, Any] = await response.json()
    return found


async def test_chat_continues_without_as_many_as_advised(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    question = f"three {LONG}"
    measured = await size(http, conversation, question)
    assert (measured["tokens"] > WINDOW, measured["left_out"]) == (True, 2)
    refused = await http.post(f"/api/conversations/{conversation}/messages", json={"content": question})
    assert (await error_of(refused, 400))["code"] == "context_length_exceeded"

    answer = await said(http, conversation, question, left_out=2)
    prompt = prompt_of(api)
    assert ("Be brief." in prompt, "one x" in prompt, "two x" in prompt, "three x" in prompt) == (
        True,
        False,
        True,
        True,
    )
    messages = (await shown(http, conversation))["messages"]
    assert [each["left_out"] for each in messages] == [None, None, None, None, 2, 2]
    assert answer["left_out"] == 2

    # The next turn leaves out the same messages, and its prompt continues this one.
    await said(http, conversation, "four")
    following = prompt_of(api)
    assert following.startswith(prompt)
    assert len(following) > len(prompt)
    assert (await shown(http, conversation))["messages"][-2]["left_out"] is None


async def test_advice_counts_on_from_what_is_left_out(http: aiohttp.ClientSession) -> None:
    conversation = await long_chat(http)
    await said(http, conversation, f"three {LONG}", left_out=2)
    assert (await size(http, conversation, "four"))["left_out"] is None
    assert (await size(http, conversation, f"four {LONG}"))["left_out"] == 4
    assert (await size(http, conversation, "x" * (WINDOW - 100)))["left_out"] == 6
    assert (await size(http, conversation, "x" * WINDOW))["left_out"] is None


async def test_other_answers_see_the_same_messages(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    answer = await said(http, conversation, "three", left_out=2)
    prompt = prompt_of(api)
    again = (await all_events(await http.post(f"/api/messages/{answer['id']}/retry")))[-1].data["message"]
    assert (prompt_of(api), again["left_out"]) == (prompt, 2)
    # An alternative to the question sees all messages, unless it says otherwise.
    parent = (await shown(http, conversation))["messages"][3]["id"]
    await said(http, conversation, "three", parent_id=parent)
    assert "one x" in prompt_of(api)
    await said(http, conversation, "four", left_out=0)
    assert "one x" in prompt_of(api)


async def test_all_messages_can_be_left_out_and_seen_again(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    await said(http, conversation, "three", left_out=4)
    assert "x" not in prompt_of(api).replace("three", "")
    await said(http, conversation, "four", left_out=0)
    assert "one x" in prompt_of(api)
    assert [each["left_out"] for each in (await shown(http, conversation))["messages"]][4:] == [4, 4, 0, None]


async def test_copies_leave_out_the_same_messages(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    answer = await said(http, conversation, "three", left_out=2)
    fork = await http.post(f"/api/conversations/{conversation}/fork", json={"message_id": answer["id"]})
    await said(http, (await fork.json())["id"], "four")
    forked = prompt_of(api)
    assert "one x" not in forked

    whole = await (await http.get(f"/api/conversations/{conversation}/export")).json()
    await http.delete(f"/api/conversations/{conversation}")
    imported = (await (await http.post("/api/import", json=whole)).json())["imported"]
    await said(http, imported[0], "four")
    assert prompt_of(api) == forked


async def test_number_must_be_that_of_a_question(http: aiohttp.ClientSession) -> None:
    conversation = await long_chat(http)
    path = f"/api/conversations/{conversation}/messages"
    for fields in ({"summary": "x"}, {"summary": "x", "left_out": 0}):
        error = await error_of(await http.post(path, json={"content": "three", **fields}), 400)
        assert error["param"] == "summary"
    for left_out, reason in ((3, "is an answer"), (5, "only 4 messages"), (-1, "greater than or equal to 0")):
        error = await error_of(await http.post(path, json={"content": "three", "left_out": left_out}), 400)
        assert error["param"] == "left_out"
        assert reason in error["message"]
    assert len((await shown(http, conversation))["messages"]) == 4


async def summary_of(http: aiohttp.ClientSession, conversation: str, left_out: int) -> str:
    response = await http.post(f"/api/conversations/{conversation}/summary", json={"left_out": left_out})
    assert response.status == 200, await response.text()
    return str((await response.json())["summary"])


async def test_summary_is_sent_as_it_is_written(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    api.engine.hold()
    body = {"left_out": 2, "stream": True}
    response = await http.post(f"/api/conversations/{conversation}/summary", json=body)
    api.engine.allow(2)
    stream = events(response)
    seen = [await anext(stream), await anext(stream)]
    assert [event.kind for event in seen] == ["delta", "delta"]
    api.engine.allow(None)
    rest = [event async for event in stream]
    whole = " ".join(f"w{number}" for number in range(ANSWER_WORDS))
    assert "".join(event.data["text"] for event in seen + rest[:-1]).strip() == whole
    assert (rest[-1].kind, rest[-1].data) == ("done", {"summary": whole})


async def test_summary_stands_for_messages_left_out(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    second = prompt_of(api)
    assert await summary_of(http, conversation, 2) == " ".join(f"w{number}" for number in range(ANSWER_WORDS))
    # The request for the summary continues the conversation, so its KV is cached, and does not have the second turn.
    asked = prompt_of(api)
    assert asked[: WINDOW // 3] == second[: WINDOW // 3]
    assert (SUMMARY_TASK in asked, "two x" in asked) == (True, False)
    assert not api.engine.requests[-1].keep_kv

    await said(http, conversation, "three", left_out=2, summary="They spoke of tides.")
    prompt = prompt_of(api)
    assert f"Be brief.\n\n{SUMMARY_HEAD}They spoke of tides." in prompt
    assert ("one x" in prompt, "two x" in prompt) == (False, True)
    await said(http, conversation, "four")
    assert prompt_of(api).startswith(prompt)
    messages = (await shown(http, conversation))["messages"]
    assert [each["summary"] for each in messages[4:]] == ["They spoke of tides.", None, None, None]

    # The next summary has the first one in its prompt.
    await summary_of(http, conversation, 4)
    asked = prompt_of(api)
    assert ("They spoke of tides." in asked, "one x" in asked, "two x" in asked) == (True, False, True)
    # Without a summary, the same messages make another prompt.
    await said(http, conversation, "five", left_out=2)
    assert "They spoke of tides." not in prompt_of(api)


async def test_summary_leaves_out_what_does_not_fit(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await long_chat(http)
    await said(http, conversation, f"three {LONG}", left_out=2)
    again = await said(http, conversation, "four", left_out=4)
    # Seen from a branch without a number, all messages are too long for one prompt.
    whole = await (await http.get(f"/api/conversations/{conversation}/export")).json()
    for message in whole["conversations"][0]["messages"]:
        message["left_out"] = None
    whole["conversations"][0]["id"] = "another"
    [imported] = (await (await http.post("/api/import", json=whole)).json())["imported"]
    await summary_of(http, imported, 8)
    assert ("one x" in prompt_of(api), "three x" in prompt_of(api)) == (False, True)
    assert again["left_out"] == 4


async def test_summary_of_what_cannot_be_summarized(http: aiohttp.ClientSession) -> None:
    conversation = await long_chat(http)
    path = f"/api/conversations/{conversation}/summary"
    for left_out in (0, 3, 5):
        assert (await error_of(await http.post(path, json={"left_out": left_out}), 400))["param"] == "left_out"
    whole = await (await http.get(f"/api/conversations/{conversation}/export")).json()
    whole["conversations"][0]["messages"][0]["content"] = "x" * 2 * WINDOW
    whole["conversations"][0]["id"] = "another"
    [imported] = (await (await http.post("/api/import", json=whole)).json())["imported"]
    error = await error_of(await http.post(f"/api/conversations/{imported}/summary", json={"left_out": 2}), 400)
    assert error["message"] == "The messages are too long to be summarized"
