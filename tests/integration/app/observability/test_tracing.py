"""Traces as a collector receives them, with a real OTLP receiver, SDK and exporter."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from app.observability.tracing import Tracing
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import api_client, running_server
from tests.integration.conversations_client import created, said

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


class Collector:
    """OTLP receiver that keeps the bodies and spans of its requests."""

    def __init__(self) -> None:
        self.raw = b""
        self.spans: list[Span] = []

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        if request.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.raw += body
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                self.spans += scope.spans
        return web.Response()

    def named(self, name: str) -> Span:
        (span,) = (span for span in self.spans if span.name == name)
        return span


def facts(span: Span) -> dict[str, object]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


@pytest.fixture
async def collector() -> AsyncIterator[tuple[Collector, str]]:
    collector = Collector()
    app = web.Application()
    app.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    yield collector, f"http://127.0.0.1:{runner.addresses[0][1]}/v1/traces"
    await runner.cleanup()


@asynccontextmanager
async def traced(state_dir: Path, endpoint: str) -> AsyncIterator[aiohttp.ClientSession]:
    """Serve with tracing, and yield a client of the server. All spans have been sent when the block ends."""
    tracing = Tracing(endpoint, lambda: "fake-1")
    async with (
        running_server(state_dir, ReplayEngine(), begin_trace=tracing.begin) as server,
        api_client(server.url) as session,
    ):
        yield session
    await asyncio.to_thread(tracing.close)


async def test_completion_joins_the_clients_trace_without_its_text(
    tmp_path: Path, collector: tuple[Collector, str]
) -> None:
    body = {"model": "fake-1", "messages": [{"role": "user", "content": "a secret word"}]}
    headers = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
    received, endpoint = collector
    async with traced(tmp_path, endpoint) as http:
        answer = await http.post("/v1/chat/completions", json=body, headers=headers)
        usage = (await answer.json())["usage"]
        await http.get("/health")
    request, chat = received.named("POST /v1/chat/completions"), received.named("chat fake-1")
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, PARENT)
    assert facts(request)["http.response.status_code"] == 200
    assert facts(request)["ebb.request_id"] == answer.headers["X-Request-Id"]
    assert chat.parent_span_id == request.span_id
    assert facts(chat)["gen_ai.usage.input_tokens"] == usage["prompt_tokens"]
    assert facts(chat)["gen_ai.usage.output_tokens"] == usage["completion_tokens"]
    parts = [span for span in received.spans if span.parent_span_id == chat.span_id]
    assert parts[-1].name == "decode"
    assert all(chat.start_time_unix_nano <= part.start_time_unix_nano for part in parts)
    assert all(part.end_time_unix_nano <= chat.end_time_unix_nano for part in parts)
    assert b"secret" not in received.raw
    assert not any("health" in span.name for span in received.spans)


async def test_run_is_a_child_span_of_its_request(tmp_path: Path, collector: tuple[Collector, str]) -> None:
    received, endpoint = collector
    async with traced(tmp_path, endpoint) as http:
        answer = await said(http, await created(http), "hello")
    (request,) = (span for span in received.spans if span.name.endswith("/messages"))
    run = received.named("chat fake-1")
    assert run.parent_span_id == request.span_id
    assert facts(run)["gen_ai.response.id"] == answer["run_id"]
