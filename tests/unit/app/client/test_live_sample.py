"""The client's sample of the live figures, which is a new one."""

import json
import time

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.client.chat_client import ChatClient, NoServerError


async def test_kept_samples_are_skipped() -> None:
    async def follow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for at in (time.time() - 100, time.time() + 1):
            await response.write(f"event: sample\ndata: {json.dumps({'at': at})}\n\n".encode())
        return response

    app = web.Application()
    app.router.add_get("/api/live", follow)
    async with TestServer(app) as server, ChatClient(str(server.make_url("/"))) as client:
        asked_at = time.time()
        assert (await client.live_sample())["at"] >= asked_at


async def test_server_that_is_not_there_is_no_broken_connection() -> None:
    async with ChatClient("http://127.0.0.1:9") as client:
        with pytest.raises(NoServerError, match="no server answers at http"):
            await client.live_sample()
