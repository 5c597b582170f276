"""Ids of a response's events, with which a browser's EventSource reconnects."""

import aiohttp
import pytest

from engine.testing.replay_engine import FAILING
from tests.integration.conversations_client import error_of
from tests.integration.responses_rig import WHOLE_ANSWER, Api
from tests.integration.sse_events import Event, all_events, events

HEADER = "Last-Event-ID"


async def streamed(http: aiohttp.ClientSession, **fields: object) -> list[Event]:
    body = {"model": "fake-1", "input": "hi", "stream": True, **fields}
    return await all_events(await http.post("/v1/responses", json=body))


def path_of(events: list[Event]) -> str:
    return f"/v1/responses/{events[0].data['response']['id']}?stream=true"


def text_in(events: list[Event]) -> str:
    return "".join(event.data["delta"] for event in events if event.kind == "response.output_text.delta")


@pytest.mark.parametrize("fields", [{}, {"store": False}, {"background": True}, {"input": FAILING}])
async def test_id_of_every_event_is_its_number(http: aiohttp.ClientSession, fields: dict[str, object]) -> None:
    sent = await streamed(http, **fields)
    assert [event.id for event in sent] == [str(event.number) for event in sent]
    if "store" not in fields:
        again = await all_events(await http.get(path_of(sent)))
        assert [event.id for event in again] == [str(event.number) for event in again]


async def test_browser_reconnects_after_any_event(http: aiohttp.ClientSession) -> None:
    sent = await streamed(http)
    for index, event in enumerate(sent[:-1]):
        rest = await all_events(await http.get(path_of(sent), headers={HEADER: event.id or ""}))
        assert [each.number for each in rest if not each.kind.endswith(".delta")] == [
            each.number for each in sent[index + 1 :] if not each.kind.endswith(".delta")
        ]
        assert text_in(sent[: index + 1]) + text_in(rest) == WHOLE_ANSWER


async def test_browser_reconnects_to_an_answer_in_progress(http: aiohttp.ClientSession, api: Api) -> None:
    api.engine.hold()
    body = {"model": "fake-1", "input": "hi", "stream": True, "background": True}
    response = await http.post("/v1/responses", json=body)
    api.engine.allow(2)
    seen: list[Event] = []
    async for event in events(response):
        seen.append(event)
        if text_in(seen) == " w0 w1":
            break
    response.close()
    again = await http.get(path_of(seen), headers={HEADER: seen[-1].id or ""})
    api.engine.allow(None)
    rest = await all_events(again)
    assert text_in(seen) + text_in(rest) == WHOLE_ANSWER
    assert rest[0].number > seen[-1].number


@pytest.mark.parametrize(("asked", "seen"), [(5, 9), (9, 5), (9, 9)])
async def test_larger_of_header_and_query_counts(http: aiohttp.ClientSession, asked: int, seen: int) -> None:
    sent = await streamed(http)
    headers = {HEADER: str(seen)}
    rest = await all_events(await http.get(f"{path_of(sent)}&starting_after={asked}", headers=headers))
    assert rest[0].number == 10


async def test_browser_that_saw_the_end_is_asked_to_stop(http: aiohttp.ClientSession) -> None:
    sent = await streamed(http)
    assert (await http.get(path_of(sent), headers={HEADER: sent[-1].id or ""})).status == 204
    assert (await http.get(path_of(sent), headers={HEADER: sent[-2].id or ""})).status == 200
    by_query = await http.get(f"{path_of(sent)}&starting_after={sent[-1].number}")
    assert (by_query.status, await by_query.text()) == (200, "")


@pytest.mark.parametrize("given", ["soon", "-1", "1.5", "run_1:0.4", "9" * 16, "٣"])
async def test_invalid_event_id_is_refused_by_name(http: aiohttp.ClientSession, given: str) -> None:
    sent = await streamed(http)
    error = await error_of(await http.get(path_of(sent), headers={HEADER: given}), 400)
    assert error["param"] == HEADER
    assert HEADER in error["message"]
