"""Conversations and runs over a real socket, as the web page uses them."""

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from engine.testing.replay_engine import FAILING, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.sse_events import Event, all_events, events, text_of

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


async def created(http: aiohttp.ClientSession, **fields: Any) -> dict[str, Any]:
    response = await http.post("/api/conversations", json=fields)
    assert response.status == 201
    made: dict[str, Any] = await response.json()
    return made


async def posted(http: aiohttp.ClientSession, conversation_id: str, **fields: Any) -> aiohttp.ClientResponse:
    response = await http.post(f"/api/conversations/{conversation_id}/messages", json=fields)
    assert response.status == 200, await response.text()
    return response


async def fetched(http: aiohttp.ClientSession, conversation_id: str) -> dict[str, Any]:
    response = await http.get(f"/api/conversations/{conversation_id}")
    assert response.status == 200
    found: dict[str, Any] = await response.json()
    return found


async def take(stream: Any, count: int) -> list[Event]:
    async with asyncio.timeout(20):
        return [await anext(stream) for _ in range(count)]


async def test_message_stream_begins_with_run_and_ends_with_done(
    http: aiohttp.ClientSession,
) -> None:
    conversation = await created(http)
    response = await posted(http, conversation["id"], content="What is a tide?")
    received = await all_events(response)
    first, last = received[0], received[-1]
    assert (first.kind, last.kind) == ("run", "done")
    assert response.headers["X-Run-Id"] == first.data["run_id"]
    assert first.data["conversation"]["title"] == "What is a tide?"
    assert first.data["user_message"]["content"] == "What is a tide?"
    assert first.data["message"]["status"] == "in_progress"
    assert text_of(received) == last.data["message"]["content"] == WHOLE_ANSWER
    assert last.data["message"]["usage"]["kv"]["computed"] > 0
    assert last.data["message"]["usage"].keys() >= {"ttft_ms", "total_ms", "queue_ms", "tokens_per_second"}


async def test_conversation_is_titled_before_its_first_message(http: aiohttp.ClientSession) -> None:
    titled = await created(http, first_message='When?\n\n<file name="tides.txt">\nHigh')
    assert (titled["title"], titled["title_source"]) == ("When?", "first_message")
    named = await created(http, title="Sea", first_message="When?")
    assert (named["title"], named["title_source"]) == ("Sea", "user")
    assert (await created(http, first_message=" "))["title"] is None


async def test_conversations_are_listed_renamed_and_deleted(http: aiohttp.ClientSession) -> None:
    first, second = await created(http), await created(http)
    renamed = await http.patch(f"/api/conversations/{first['id']}", json={"title": "Renamed"})
    assert (await renamed.json())["title"] == "Renamed"
    listed = (await (await http.get("/api/conversations")).json())["data"]
    assert [(c["id"], c["title"]) for c in listed] == [(second["id"], None), (first["id"], "Renamed")]
    assert (await http.delete(f"/api/conversations/{first['id']}")).status == 204
    assert (await http.get(f"/api/conversations/{first['id']}")).status == 404
    assert (await http.delete(f"/api/conversations/{first['id']}")).status == 404


async def test_temporary_conversation_is_in_no_list(http: aiohttp.ClientSession) -> None:
    hidden = await created(http, title="Tides", temporary=True)
    await (await posted(http, hidden["id"], content="When is high tide?")).read()
    usual = await created(http, title="Gulls")

    async def listed() -> set[str]:
        found = await (await http.get("/api/search?q=tide")).json()
        page = await (await http.get("/api/conversations")).json()
        export = await (await http.get("/api/export")).json()
        ids = [each["id"] for each in page["data"] + export["conversations"] + found["conversations"]]
        return {*ids, *(each["conversation"]["id"] for each in found["messages"])}

    assert await listed() == {usual["id"]}
    assert (await fetched(http, hidden["id"]))["temporary"]
    url = f"/api/conversations/{usual['id']}"
    error = await (await http.patch(url, json={"temporary": True})).json()
    assert error["error"]["param"] == "temporary"
    await http.patch(f"/api/conversations/{hidden['id']}", json={"temporary": False})
    assert await listed() == {usual["id"], hidden["id"]}


async def test_run_outlives_its_tab_and_resumes_without_a_gap(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    api.engine.hold()
    response = await posted(http, conversation["id"], content="hi")
    stream = events(response)
    api.engine.allow(2)
    seen: list[Event] = await take(stream, 1)
    while text_of(seen) != " w0 w1":
        seen += await take(stream, 1)
    response.close()
    api.engine.allow(None)
    run_id = seen[0].data["run_id"]
    again = await http.get(f"/api/runs/{run_id}/events", headers={"Last-Event-ID": seen[-1].id or ""})
    rest = await all_events(again)
    assert rest[0].number > seen[-1].number
    assert text_of(seen) + text_of(rest) == rest[-1].data["message"]["content"] == WHOLE_ANSWER


async def test_reload_during_a_run_begins_with_a_snapshot(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    api.engine.hold()
    response = await posted(http, conversation["id"], content="hi")
    stream = events(response)
    api.engine.allow(3)
    seen = await take(stream, 1)
    while text_of(seen) != " w0 w1 w2":
        seen += await take(stream, 1)
    found = await fetched(http, conversation["id"])
    answer = found["messages"][-1]
    assert (answer["status"], answer["content"]) == ("in_progress", " w0 w1 w2")
    second_tab = events(await http.get(f"/api/runs/{answer['run_id']}/events"))
    [snapshot] = await take(second_tab, 1)
    assert (snapshot.kind, snapshot.data["message"]["content"]) == ("snapshot", " w0 w1 w2")
    api.engine.allow(None)
    rest = [event async for event in second_tab]
    assert snapshot.data["message"]["content"] + text_of(rest) == WHOLE_ANSWER
    seen += [event async for event in stream]
    assert text_of(seen) == WHOLE_ANSWER


async def test_events_can_be_read_from_a_sequence_number(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    whole = await all_events(await posted(http, conversation["id"], content="hi"))
    run_id, last = whole[0].data["run_id"], whole[-1].number
    rest = await all_events(await http.get(f"/api/runs/{run_id}/events?starting_after=1"))
    assert text_of(rest) == WHOLE_ANSWER
    assert (await http.get(f"/api/runs/{run_id}/events?starting_after={last}")).status == 204
    wrong = await http.get(f"/api/runs/{run_id}/events?starting_after=soon")
    assert wrong.status == 400
    assert (await wrong.json())["error"]["param"] == "starting_after"


async def test_unknown_run_is_not_found(http: aiohttp.ClientSession) -> None:
    assert (await http.get("/api/runs/run_none/events")).status == 404
    assert (await http.post("/api/runs/run_none/cancel")).status == 404


async def test_cancel_keeps_partial_text_and_ends_the_stream(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    api.engine.hold()
    stream = events(await posted(http, conversation["id"], content="hi"))
    seen = await take(stream, 1)
    api.engine.allow(2)
    while text_of(seen) != " w0 w1":
        seen += await take(stream, 1)
    run_id = seen[0].data["run_id"]
    cancelled = await (await http.post(f"/api/runs/{run_id}/cancel")).json()
    assert (cancelled["status"], cancelled["content"]) == ("cancelled", " w0 w1")
    assert await (await http.post(f"/api/runs/{run_id}/cancel")).json() == cancelled
    rest = [event async for event in stream]
    assert [event.kind for event in rest] == ["done"]
    assert rest[0].data["message"] == cancelled
    assert api.engine.running == 0


async def test_engine_failure_ends_stream_with_error_event(http: aiohttp.ClientSession) -> None:
    conversation = await created(http)
    received = await all_events(await posted(http, conversation["id"], content=FAILING))
    assert received[-1].kind == "error"
    assert received[-1].data["error"]["type"] == "server_error"
    assert received[-1].data["message"]["status"] == "failed"
    assert received[-1].data["message"]["content"] == text_of(received) == " w0 w1 w2"


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/api/conversations/conv_none/messages", {"content": "x"}, 404, None),
        ("/api/conversations", {"colour": "red"}, 400, "colour"),
        ("/api/conversations", {"title": "x" * 201}, 400, "title"),
        ("/api/conversations", {"params": {"n": 1}}, 400, "params.n"),
    ],
)
async def test_errors_under_api_have_openais_shape(
    http: aiohttp.ClientSession, path: str, body: dict[str, Any], status: int, param: str | None
) -> None:
    response = await http.post(path, json=body)
    assert response.status == status
    error = (await response.json())["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["param"] == param


async def test_chat_continues_with_same_tokens_after_restart(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as first, api_client(first.url) as http:
        conversation = await created(http)
        await all_events(await posted(http, conversation["id"], content="one"))
        before = await fetched(http, conversation["id"])
        prompt = first.engine.requests[0]
    async with running_server(tmp_path, ReplayEngine()) as second, api_client(second.url) as http:
        assert await fetched(http, conversation["id"]) == before
        await all_events(await posted(http, conversation["id"], content="two"))
        so_far = (*prompt.prompt, *prompt.produced)
        assert second.engine.requests[0].prompt[: len(so_far)] == so_far


async def test_finished_run_is_readable_after_restart(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as first, api_client(first.url) as http:
        conversation = await created(http)
        done = (await all_events(await posted(http, conversation["id"], content="one")))[-1]
    async with running_server(tmp_path, ReplayEngine()) as second, api_client(second.url) as http:
        url = f"/api/runs/{done.data['run_id']}/events"
        snapshot, end = await all_events(await http.get(url))
        assert snapshot.data["message"]["content"] == WHOLE_ANSWER
        assert [event.kind for event in await all_events(await http.get(f"{url}?starting_after=3"))] == [
            "snapshot",
            "done",
        ]
        assert end.data["message"] == done.data["message"]
        assert end.id == done.id
        assert (await http.get(url, headers={"Last-Event-ID": end.id or ""})).status == 204


async def test_server_stop_sends_restart_event_and_retry_after(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine()) as server, api_client(server.url) as http:
        conversation = await created(http)
        server.engine.hold()
        stream = events(await posted(http, conversation["id"], content="hi"))
        await take(stream, 1)
        await server.services.model.host.stop(0)
        assert [event.kind async for event in stream] == ["server_restart"]
        refused = await http.post(f"/api/conversations/{conversation['id']}/messages", json={"content": "x"})
        assert refused.status == 503
        assert "Retry-After" in refused.headers


async def test_every_follower_of_a_run_gets_the_whole_text(http: aiohttp.ClientSession, api: Api) -> None:
    conversation = await created(http)
    api.engine.hold()
    response = await posted(http, conversation["id"], content="hi")
    run_id = response.headers["X-Run-Id"]
    url = f"/api/runs/{run_id}/events?starting_after=0"
    followers = await asyncio.gather(*(http.get(url) for _ in range(20)))
    api.engine.allow(None)
    for received in await asyncio.gather(*(all_events(follower) for follower in followers)):
        assert text_of(received) == WHOLE_ANSWER
        assert received[-1].kind == "done"
