"""Work that ends when the client of its request leaves: documents, searches and long prompts."""

import asyncio
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from app.prompts.tokenization import LONG_TEXT
from app.storage.search import SearchStore
from app.tenants.gate import TenantGate
from app.transport.protocol import HttpProtocol
from engine.testing.byte_chat_format import ByteChatFormat
from engine.testing.byte_tokenizer import ByteTokenizer
from engine.testing.replay_engine import ReplayEngine
from models.retrieval.folder import Retrieval
from models.retrieval.score_head import ScoreHead
from tests.integration.api_server import RunningServer, api_client, running_server

Api = RunningServer[ReplayEngine]

TEXT: Final = "a" * LONG_TEXT
MESSAGES: Final = [{"role": "user", "content": TEXT}]
PROMPTS: Final[dict[str, dict[str, Any]]] = {
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/completions": {"prompt": TEXT},
    "/v1/embeddings": {"input": TEXT},
    "/v1/rerank": {"query": "a", "documents": [TEXT]},
    "/v2/rerank": {"query": "a", "documents": [TEXT]},
    "/v1/score": {"text_1": "a", "text_2": TEXT},
    "/v1/messages": {"messages": MESSAGES, "max_tokens": 1},
    "/v1/messages/count_tokens": {"messages": MESSAGES},
    "/v1/responses": {"input": TEXT},
    "/v1/responses/input_tokens": {"input": TEXT},
    "/v1/responses/compact": {"input": [*MESSAGES, *MESSAGES]},
    "/api/chat": {"messages": MESSAGES},
    "/api/generate": {"prompt": TEXT},
    "/api/embed": {"input": TEXT},
    "/tokenize": {"prompt": TEXT},
}
"""Requests with a text that is tokenized in the turn of its tenant."""


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with running_server(tmp_path, ReplayEngine()) as api:
        api.engine.retrieval = Retrieval(head=ScoreHead([0.0, 0.0, 0.0]))
        yield api


async def send(api: Api, method: str, path: str, body: bytes = b"") -> asyncio.StreamWriter:
    """Send a request, and return its connection."""
    _, writer = await asyncio.open_connection("127.0.0.1", int(api.url.rpartition(":")[2]))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return writer


async def test_child_process_of_a_document_ends_when_the_client_leaves(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read two documents with processes that never end. The second one has to wait for the place of the first one."""
    start, started = asyncio.create_subprocess_exec, asyncio.Queue[Process]()

    async def start_sleeping(*_: object, **options: Any) -> Process:
        process = await start("sleep", "1000", **options)
        started.put_nowait(process)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", start_sleeping)
    async with asyncio.timeout(20):
        first, second = [await send(api, "POST", "/api/document-text", b"PK") for _ in range(2)]
        process = await started.get()
        first.close()
        await process.wait()
        process = await started.get()
        second.close()
        await process.wait()
    assert started.empty()


async def test_search_ends_when_the_client_leaves(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def search(*_: object, **__: object) -> None:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    monkeypatch.setattr(SearchStore, "messages", search)
    async with asyncio.timeout(20):
        writer = await send(api, "GET", "/api/search?q=sea")
        await began.wait()
        writer.close()
        await ended.wait()


@pytest.mark.parametrize("path", PROMPTS)
async def test_long_prompt_is_not_tokenized_once_its_client_has_left(
    api: Api, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Let a request wait for its turn, and leave. Another one, which stays, is tokenized after it."""
    lengths, left = list[int](), asyncio.Event()
    render, encode, long_text = ByteChatFormat.render, ByteTokenizer.encode, TenantGate.long_text
    connection_lost, asking = HttpProtocol.connection_lost, asyncio.Queue[int]()

    def rendered(self: ByteChatFormat, messages: Any, **options: Any) -> list[int]:
        lengths.append(sum(len(each.content) for each in messages))
        return render(self, messages, **options)

    def encoded(self: ByteTokenizer, text: str, **options: Any) -> list[int]:
        lengths.append(len(text))
        return encode(self, text, **options)

    def asked(self: TenantGate, num_characters: int) -> Any:
        asking.put_nowait(num_characters)
        return long_text(self, num_characters)

    def lost(self: HttpProtocol, error: Exception | None) -> None:
        connection_lost(self, error)
        left.set()

    monkeypatch.setattr(ByteChatFormat, "render", rendered)
    monkeypatch.setattr(ByteTokenizer, "encode", encoded)
    monkeypatch.setattr(TenantGate, "long_text", asked)
    monkeypatch.setattr(HttpProtocol, "connection_lost", lost)
    gate = api.services.access.gates.of("local")
    body = json.dumps({"model": "fake-1"} | PROMPTS[path]).encode()
    async with asyncio.timeout(20), api_client(api.url) as client:
        async with long_text(gate, LONG_TEXT):
            writer = await send(api, "POST", path, body)
            await asking.get()
            stays = asyncio.create_task(client.post("/tokenize", json={"prompt": f"{TEXT}b"}))
            await asking.get()
            writer.close()
            await left.wait()
        assert (await stays).status == 200
    assert lengths == [LONG_TEXT + 1]
