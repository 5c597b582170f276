"""Sizes of prompts before they are sent, over a real socket."""

from typing import Any

import aiohttp

from engine.testing.replay_engine import WINDOW
from tests.integration.conversations_client import error_of
from tests.integration.sse_events import all_events


async def size(http: aiohttp.ClientSession, **fields: Any) -> dict[str, Any]:
    response = await http.post("/api/prompt-size", json=fields)
    assert response.status == 200, await response.text()
    found: dict[str, Any] = await response.json()
    return found


async def test_size_is_that_of_the_prompt_that_is_sent_next(http: aiohttp.ClientSession) -> None:
    made = await (await http.post("/api/conversations", json={"system_prompt": "Be brief."})).json()
    first = await size(http, content="What is a tide?", system_prompt="Be brief.")
    path = f"/api/conversations/{made['id']}/messages"
    for content in ("What is a tide?", "And an ebb?"):
        expected = await size(http, conversation_id=made["id"], content=content)
        end = (await all_events(await http.post(path, json={"content": content})))[-1]
        assert expected == {"tokens": end.data["message"]["usage"]["prompt_tokens"], "window": WINDOW, "left_out": None}
        assert (content == "What is a tide?") == (expected == first)


async def test_size_beyond_the_window_is_counted_or_null(http: aiohttp.ClientSession) -> None:
    assert (await size(http, content="x" * 2 * WINDOW))["tokens"] > WINDOW
    assert (await size(http, content="x" * ((1 << 19) + 1)))["tokens"] is None
    unknown = await http.post("/api/prompt-size", json={"conversation_id": "conv_0", "content": "x"})
    assert (await error_of(unknown, 404))["code"] == "conversation_not_found"
