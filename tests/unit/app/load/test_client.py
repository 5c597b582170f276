"""The load client against servers that follow the protocol, and against servers that break it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from app.load.answer import RequestFailedError, StreamBrokenError, TierTokens, TokenUsage
from app.load.client import Generation, LoadClient, fixed_length

Play = Callable[["Scene"], Awaitable[None]]
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}


class Scene:
    """One request to a scripted server, with its body and the response that the script writes."""

    def __init__(self, request: web.Request, body: dict[str, object], response: web.StreamResponse) -> None:
        self.request, self.body, self._response = request, body, response

    async def raw(self, text: str) -> None:
        await self._response.write(text.encode())

    async def chunk(self, **chunk: object) -> None:
        await self.raw(f"data: {json.dumps(chunk)}\n\n")

    async def say(self, *pieces: str) -> None:
        for piece in pieces:
            await self.chunk(choices=[{"delta": {"content": piece}, "finish_reason": None}])

    async def finish(self, reason: str = "length", **chunk: object) -> None:
        await self.chunk(choices=[{"delta": {}, "finish_reason": reason}], **chunk)


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[Play], Awaitable[LoadClient]]]:
    opened: list[LoadClient] = []
    servers: list[TestServer] = []

    async def start(play: Play, stall_seconds: float = 5.0, concurrency: int = 64) -> LoadClient:
        async def answer(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            body = await request.json()
            if body.get("refuse"):
                return web.json_response({"error": {"message": "no such field", "param": "refuse"}}, status=400)
            await response.prepare(request)
            await play(Scene(request, body, response))
            return response

        async def models(request: web.Request) -> web.Response:
            return web.json_response({"object": "list", "data": [{"id": "the-model"}]})

        app = web.Application()
        app.router.add_post("/v1/chat/completions", answer)
        app.router.add_post("/v1/completions", answer)
        app.router.add_get("/v1/models", models)
        server = TestServer(app)
        await server.start_server()
        servers.append(server)
        client = LoadClient(str(server.make_url("")), stall_seconds=stall_seconds, concurrency=concurrency)
        opened.append(await client.__aenter__())
        return client

    yield start
    for client in opened:
        await client.__aexit__(None, None, None)
    for server in servers:
        await server.close()


Serve = Callable[..., Awaitable[LoadClient]]
HELLO = [{"role": "user", "content": "hello"}]


async def test_chat_is_measured_token_by_token(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.chunk(choices=[{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
        await scene.say("Wa", "ter", ".")
        await scene.finish("stop")
        kv = {"device": 1, "cpu": 2, "redis": 4, "computed": 2, "restore_ms": 0.5}
        await scene.chunk(choices=[], usage={**USAGE, "prompt_tokens_details": {"cached_tokens": 7}, "kv": kv})
        await scene.raw("data: [DONE]\n\n")

    answer = await (await serve(play)).chat(HELLO, Generation(max_tokens=3))

    assert (answer.text, answer.finish_reason, answer.tokens) == ("Water.", "stop", 3)
    assert answer.usage == TokenUsage(9, 3, 7, TierTokens({"device": 1, "cpu": 2, "redis": 4, "disk": 0}, 2, 0.5))
    assert len(answer.text_times) == 3
    assert 0 < answer.ttft <= answer.ttft + sum(answer.gaps) <= answer.total


async def test_role_chunk_is_not_the_first_token(serve: Serve) -> None:
    asked = asyncio.Event()

    async def play(scene: Scene) -> None:
        await scene.chunk(choices=[{"delta": {"role": "assistant", "content": ""}, "finish_reason": None}])
        await scene.raw(": keep-alive\n\n")
        # The delay starts when the client's clock is already running.
        asyncio.get_running_loop().call_later(0.05, asked.set)
        await asyncio.wait_for(asked.wait(), 5)
        await scene.say("late")
        await scene.finish()

    client = await serve(play)
    answer = await client.chat(HELLO, Generation(max_tokens=1))

    assert answer.ttft >= 0.04
    assert len(answer.text_times) == 1


async def test_text_completion_is_read(serve: Serve) -> None:
    sent: list[dict[str, object]] = []

    async def play(scene: Scene) -> None:
        sent.append(scene.body)
        await scene.chunk(choices=[{"text": "one ", "finish_reason": None}])
        await scene.chunk(choices=[{"text": "two", "finish_reason": "length"}], usage=USAGE)

    answer = await (await serve(play)).complete([1, 2, 3], Generation(max_tokens=2))

    assert (answer.text, answer.finish_reason, answer.tokens) == ("one two", "length", 3)
    assert sent[0]["prompt"] == [1, 2, 3]


async def test_request_names_model_of_server_and_asks_for_usage(serve: Serve) -> None:
    sent: list[dict[str, object]] = []

    async def play(scene: Scene) -> None:
        sent.append(scene.body)
        await scene.finish()

    client = await serve(play)
    await client.chat(HELLO, Generation(max_tokens=5, extra={"top_k": 3}))
    await client.chat(HELLO, fixed_length(5))

    assert sent[0] == {
        "model": "the-model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": HELLO,
        "max_tokens": 5,
        "temperature": 0.0,
        "ignore_eos": True,
        "top_k": 3,
    }
    assert "ignore_eos" not in sent[1]
    assert (sent[1]["min_tokens"], sent[1]["max_tokens"], sent[1]["temperature"]) == (5, 5, 0.0)


async def test_tokens_without_usage_are_counted_by_events(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.say("a", "b", "c", "d")
        await scene.finish()

    answer = await (await serve(play)).chat(HELLO, Generation(max_tokens=4))

    assert answer.usage is None
    assert answer.tokens == 4


async def test_ttft_of_answer_without_text_is_total_time(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.finish("stop")

    answer = await (await serve(play)).chat(HELLO, Generation(max_tokens=4))

    assert answer.ttft == answer.total > 0
    assert answer.gaps == ()


async def test_refused_request_raises_status_and_reason(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        raise AssertionError("the scene was played after a refusal")

    client = await serve(play)
    with pytest.raises(RequestFailedError, match="no such field") as caught:
        await client.chat(HELLO, Generation(max_tokens=1, extra={"refuse": True}))
    assert caught.value.status == 400


async def test_error_in_mid_stream_fails_the_request(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.say("half")
        await scene.chunk(error={"message": "the engine stopped", "type": "server_error"})

    with pytest.raises(RequestFailedError, match="the engine stopped"):
        await (await serve(play)).chat(HELLO, Generation(max_tokens=4))


async def test_stream_that_ends_early_is_broken(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.say("half")
        await scene.raw("data: [DONE]\n\n")

    with pytest.raises(StreamBrokenError, match="ended early, after 1"):
        await (await serve(play)).chat(HELLO, Generation(max_tokens=4))


async def test_aborted_connection_is_broken_stream(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.say("half")
        assert scene.request.transport is not None
        scene.request.transport.abort()

    with pytest.raises(StreamBrokenError):
        await (await serve(play)).chat(HELLO, Generation(max_tokens=4))


@pytest.mark.parametrize("noise", ["data: {not json\n\n", "data: 17\n\n"])
async def test_malformed_event_is_broken_stream(serve: Serve, noise: str) -> None:
    async def play(scene: Scene) -> None:
        await scene.raw(noise)

    with pytest.raises(StreamBrokenError, match="an event is not"):
        await (await serve(play)).chat(HELLO, Generation(max_tokens=4))


async def test_stream_of_only_keep_alives_stalls(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        await scene.say("half")
        while scene.request.transport is not None:
            await scene.raw(": keep-alive\n\n")
            await asyncio.sleep(0.02)

    client = await serve(play, stall_seconds=0.1)
    with pytest.raises(StreamBrokenError, match=r"no event for 0\.1 s"):
        await client.chat(HELLO, Generation(max_tokens=4))


async def test_long_answer_that_keeps_streaming_does_not_stall(serve: Serve) -> None:
    async def play(scene: Scene) -> None:
        for _ in range(24):
            await scene.say("tide ")
            await asyncio.sleep(0.05)
        await scene.finish()

    answer = await (await serve(play, stall_seconds=1.0)).chat(HELLO, Generation(max_tokens=24))

    assert answer.total > 1.0
    assert answer.text == "tide " * 24


async def test_concurrency_is_bounded_and_waiting_is_not_measured(serve: Serve) -> None:
    running, most, released = 0, 0, 0.0
    release = asyncio.Event()

    async def play(scene: Scene) -> None:
        nonlocal running, most, released
        running += 1
        most = max(most, running)
        if running == 2 and not release.is_set():
            released = time.perf_counter()
            release.set()
        await asyncio.wait_for(release.wait(), 5)
        await scene.say("x")
        await scene.finish()
        running -= 1

    client = await serve(play, concurrency=2)
    answers = await asyncio.gather(*(client.chat(HELLO, Generation(max_tokens=1)) for _ in range(6)))

    assert most == 2
    # Four requests waited for a slot. Their clocks started when they got one.
    assert sum(answer.sent > released for answer in answers) == 4
