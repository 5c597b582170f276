"""Load client for any server with OpenAI's streaming API. Depends on no other feature of the server."""

import asyncio
import json
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

import aiohttp

from app.load.answer import Answer, AnswerBuilder, RequestFailedError, StreamBrokenError
from app.load.http_stream import Piece, post_stream
from app.load.sse import SSEParser

_SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{.*\})? +(\S+)(?: +-?\d+)?$")


def parse_metrics(text: str) -> dict[str, float]:
    """Return each metric's value by name, summed over its labels. Comments and lines of another form are skipped."""
    totals: dict[str, float] = {}
    for line in text.splitlines():
        if found := _SAMPLE.match(line):
            name, value = found.groups()
            totals[name] = totals.get(name, 0.0) + float(value)
    return totals


Message = Mapping[str, str]
"""A message: {"role": ..., "content": ...}"""


@dataclass(frozen=True, slots=True)
class Generation:
    """Parameters of an answer. Greedy by default, and of fixed length if the server supports `ignore_eos`.

    extra: more fields of the request body, sent as they are.
    """

    max_tokens: int
    temperature: float = 0.0
    ignore_eos: bool = True
    extra: Mapping[str, object] = field(default_factory=dict)

    def body(self) -> dict[str, object]:
        """Return the fields for the request body. `ignore_eos` is sent only if set, since strict servers refuse it."""
        fields: dict[str, object] = {"max_tokens": self.max_tokens, "temperature": self.temperature}
        if self.ignore_eos:
            fields["ignore_eos"] = True
        return fields | dict(self.extra)


def fixed_length(tokens: int) -> Generation:
    """Make greedy parameters for exactly `tokens` tokens, for servers with `min_tokens`: no stop token is sampled.

    With `ignore_eos` the answer would continue past its end, with special tokens that its text does not contain. The
    next turn's history would then differ from what the server computed, and reuse would end there.
    """
    return Generation(tokens, ignore_eos=False, extra={"min_tokens": tokens})


class LoadClient:
    """Client of one server, with at most `concurrency` requests in flight.

    Times count from sending a request, not from queueing it. Every answer has a separate connection, and opening it
    counts towards the time to first token.

    base_url: URL without /v1, such as "http://127.0.0.1:8000".
    model: None takes the first model of /v1/models.
    stall_seconds: time without an event after which a stream is broken. Keep-alive comments do not count as events.
    """

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        concurrency: int = 64,
        stall_seconds: float = 120.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Prepare the client.

        tls: None trusts the system's authorities.
        """
        self.base_url = base_url.rstrip("/")
        self._model = model
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._slots = asyncio.Semaphore(concurrency)
        self._stall_seconds = stall_seconds
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
        connector = aiohttp.TCPConnector(ssl=self._tls if self._tls is not None else True)
        self._session = aiohttp.ClientSession(timeout=timeout, headers=self._headers, connector=connector)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def chat(self, messages: Sequence[Message], generation: Generation) -> Answer:
        """Stream one answer of /v1/chat/completions. Raise RequestFailedError or StreamBrokenError."""
        return await self._measure("/v1/chat/completions", {"messages": list(messages)}, generation)

    async def complete(self, prompt: str | Sequence[int], generation: Generation) -> Answer:
        """Stream one answer of /v1/completions to text or token ids. Raise as `chat` does."""
        sent = prompt if isinstance(prompt, str) else list(prompt)
        return await self._measure("/v1/completions", {"prompt": sent}, generation)

    async def model(self) -> str:
        """Return the name of the model to request. Raise RequestFailedError if the server lists none."""
        if self._model is None:
            async with self._get("/v1/models") as response:
                listed: list[dict[str, Any]] = (await response.json())["data"]
            if not listed:
                raise RequestFailedError(200, "the server lists no model")
            self._model = str(listed[0]["id"])
        return self._model

    async def metrics(self) -> dict[str, float]:
        """Return the samples of /metrics, summed over labels. Raise RequestFailedError if there are none."""
        async with self._get("/metrics") as response:
            return parse_metrics(await response.text())

    async def _measure(self, path: str, content: Mapping[str, object], generation: Generation) -> Answer:
        body = {"model": await self.model(), "stream": True, "stream_options": {"include_usage": True}}
        async with self._slots:
            return await self._stream(path, body | dict(content) | generation.body())

    async def _stream(self, path: str, body: Mapping[str, object]) -> Answer:
        """Stream one answer, and parse it after its end: parsing earlier would delay other streams and the server."""
        sent = time.perf_counter()
        try:
            status, pieces = await post_stream(
                self.base_url + path, body, self._headers, self._stall_seconds, self._tls
            )
        except TimeoutError as error:
            raise StreamBrokenError(f"no event for {self._stall_seconds:g} s") from error
        except (OSError, ValueError) as error:
            raise StreamBrokenError(f"{type(error).__name__}: {error}") from error
        if status != 200:
            raise RequestFailedError(status, b"".join(data for _, data in pieces).decode(errors="replace"))
        return _read(pieces, sent, time.perf_counter())

    @asynccontextmanager
    async def _get(self, path: str) -> AsyncIterator[aiohttp.ClientResponse]:
        async with self._open().get(self.base_url + path) as response:
            if response.status != 200:
                raise RequestFailedError(response.status, await response.text())
            yield response

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise RuntimeError("LoadClient is used outside its `async with`")
        return self._session


def _read(pieces: Sequence[Piece], sent: float, ended: float) -> Answer:
    """Parse a stream's pieces. Each event has the time of its last byte. Raise as `LoadClient.chat` does."""
    answer, parser = AnswerBuilder(sent), SSEParser()
    for at, piece in pieces:
        for event in parser.feed(piece):
            if event.data == "[DONE]":
                answer.end(at)
            else:
                answer.add(_decoded(event.data), at)
    return answer.finish(ended)


def _decoded(data: str) -> Mapping[str, Any]:
    try:
        chunk = json.loads(data)
    except json.JSONDecodeError as error:
        raise StreamBrokenError(f"an event is not JSON: {data[:80]!r}") from error
    if not isinstance(chunk, dict):
        raise StreamBrokenError(f"an event is not an object: {data[:80]!r}")
    return chunk
