"""The progress of a prompt on Ebb's own routes."""

import asyncio
from collections import Counter

import aiohttp

from app.runs.run import PROGRESS_SECONDS
from engine.api.outputs import PromptProgress, RequestOutput
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.described import check_event
from tests.integration.sse_events import events

Api = RunningServer[ReplayEngine]

FOUND = Counter({"device": 20, "redis": 10})


def half(done: int) -> PromptProgress:
    return PromptProgress(80, done, FOUND, "computing", 1.0, 2.5)


async def test_stream_of_a_chat_reports_progress_until_first_token(api: Api) -> None:
    api.engine.hold()
    async with aiohttp.ClientSession(api.url) as session, asyncio.timeout(20):
        async with session.post("/api/conversations", json={}) as created:
            chat = (await created.json())["id"]
        async with session.post(f"/api/conversations/{chat}/messages", json={"content": "hi"}) as response:
            received = events(response)
            assert (await anext(received)).kind == "run"
            [asked] = api.engine.requests
            assert asked.progress_every == PROGRESS_SECONDS
            asked.put(RequestOutput(request_id=asked.request_id, text="", token_ids=(), progress=(half(30), half(60))))
            told = await anext(received)
            check_event("POST", response.url.path, told.kind, told.data)
            run_id = told.data.pop("run_id")
            assert (told.kind, told.id) == ("progress", None)
            assert told.data == {
                "sequence_number": 1,
                "state": "computing",
                "total": 80,
                "done": 60,
                "reused": {"device": 20, "cpu": 0, "redis": 10, "disk": 0},
                "computed": 30,
                "seconds_left": 2.5,
            }
            async with session.get(f"/api/runs/{run_id}/events") as other:
                late = events(other)
                assert [(await anext(late)).kind for _ in range(2)] == ["snapshot", "progress"]
                api.engine.allow(None)
                assert {event.kind async for event in late} == {"delta", "done"}
            assert await anext(event.kind async for event in received) == "delta"
