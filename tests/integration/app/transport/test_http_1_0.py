"""Clients that speak HTTP/1.0, such as the health checks of HAProxy: no chunks, no interim responses, no Host."""

import asyncio

import pytest

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]


async def answer(api: Api, request: bytes) -> tuple[bytes, bytes]:
    """Send a request, and return the head and the body of the response, which the end of the connection ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    try:
        async with asyncio.timeout(20):
            writer.write(request)
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    return head.lower(), body


@pytest.mark.parametrize("method", [b"GET", b"HEAD", b"OPTIONS"])
async def test_health_check_needs_no_host(api: Api, method: bytes) -> None:
    for path in (b"/health", b"/ready"):
        head, _ = await answer(api, method + b" " + path + b" HTTP/1.0\r\n\r\n")
        assert head.startswith(b"http/1.1 405" if method == b"OPTIONS" else b"http/1.1 200"), head


async def test_stream_is_sent_without_chunks(api: Api) -> None:
    body = b'{"model": "fake-1", "prompt": "x", "stream": true}'
    request = b"POST /v1/completions HTTP/1.0\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    head, events = await answer(api, request)
    assert b"transfer-encoding" not in head
    assert b"connection: close" in head
    assert events.startswith(b"data: {")
    assert events.endswith(b"}\n\ndata: [DONE]\n\n")
    assert events.count(b" w11") == 1


async def test_answer_of_known_length_is_unchanged(api: Api) -> None:
    head, body = await answer(api, b"GET /v1/models HTTP/1.0\r\n\r\n")
    assert b"content-length: %d" % len(body) in head
    assert b"transfer-encoding" not in head


async def test_expectation_gets_no_interim_response(api: Api) -> None:
    body = b'{"model": "fake-1", "prompt": "x"}'
    head = b"POST /v1/completions HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    assert (await answer(api, head + body))[0].startswith(b"http/1.1 200")
