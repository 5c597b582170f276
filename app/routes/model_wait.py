"""Requests for one of several models that is not in memory yet: they wait, and a stream says what they wait for.

A stream has the status 200 once it has begun, so a load that fails at once still has the status of its error. Typed
clients know no event of this kind, so the steps are comments of the stream, a `ping` in Anthropic's API, and spaces
between JSON lines.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from app.apis.ollama.model_name import untagged
from app.host.served_model import ServedModel
from app.http.error_formats import ANTHROPIC_ROUTE, format_of, is_ollama
from app.http.error_responses import log_error
from app.http.operation import Operation
from app.schemas.parsing import RequestModel
from app.services import server_services
from app.tenants.gate import gate_of
from app.transport.direct_writer import DirectWriter
from app.transport.event_stream import EventStream
from app.transport.frames import EVENTS, JSON_LINES, json_line
from app.transport.sse import data_frame, numbered_frame, typed_frame
from engine.api.errors import EbbError

QUICK_SECONDS: Final = 0.5
"""Time before a stream begins without the model. A load that is refused is usually refused sooner."""

RESPONSES_ROUTE: Final = "/v1/responses"

Begin = Callable[[], Awaitable[Response]]


async def answer_when_loaded(operation: Operation, request: Request, taken: Mapping[str, Any]) -> Response:
    """Answer a request once its model is in memory.

    Prompts can be made without the model once it was loaded, so only a stream waits here for it to come back. Other
    requests wait in the model's own queue.
    """

    async def begin() -> Response:
        return await operation.endpoint(request, **taken)

    host = server_services(request).model.host
    fields = next((each for each in taken.values() if isinstance(each, RequestModel)), None)
    name = getattr(fields, "model", None)
    if host.models is None or fields is None or not isinstance(name, str):
        return await begin()
    model = host.find(untagged(host, name))
    is_streamed = bool(getattr(fields, "stream", False))
    if model is None or getattr(fields, "only_unloads", False):
        return await begin()
    if model.state == "loaded" or (model.facts is not None and not is_streamed):
        return await begin()
    gate_of(request).check(model.backend)
    patience = host.models.patience(getattr(fields, "timeout", None))
    waiting = asyncio.ensure_future(host.models.ready(model, patience))
    try:
        await asyncio.wait({waiting}, timeout=QUICK_SECONDS if is_streamed else None)
        if waiting.done():
            waiting.result()
            return await begin()
    except BaseException:
        waiting.cancel()
        raise
    return LoadingStream(request, model, waiting, begin)


class LoadingStream(Response):
    """A stream that begins before its model is in memory, and continues with the stream of the answer."""

    def __init__(self, request: Request, model: ServedModel, waiting: "asyncio.Future[Any]", begin: Begin) -> None:
        """Prepare the response.

        waiting: ends once the model is in memory, or with the reason why it is not.
        begin: makes the response whose body follows.
        """
        super().__init__()
        self._request_id: str = request.state.request_id
        self._path = request.url.path
        self._model = model
        self._waiting = waiting
        self._begin = begin
        self._framing = JSON_LINES if is_ollama(self._path) else EVENTS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the steps of the load, and then the body of the response."""

        async def send_open(message: Message) -> None:
            """Send all but the end of the body."""
            if message["type"] != "http.response.body" or message.get("body") or message.get("more_body"):
                await send({**message, "more_body": True} if message["type"] == "http.response.body" else message)

        async def send_body(message: Message) -> None:
            """Send all but the head, which has been sent."""
            if message["type"] == "http.response.body":
                await send(message)

        try:
            await EventStream(self._steps, headers={}, framing=self._framing, refused=self._failure)(
                scope, receive, send_open
            )
            if not self._waiting.done():
                return
            try:
                self._waiting.result()
                response = await self._begin()
            except EbbError as error:
                log_error(error)
                await send({"type": "http.response.body", "body": self._failure(error), "more_body": False})
                return
            await response(scope, receive, send_body)
        finally:
            self._waiting.cancel()

    async def _steps(self, _writer: DirectWriter | None) -> AsyncGenerator[bytes, None]:
        """Yield a frame for each step until the model is in memory."""
        shown = ""
        while not self._waiting.done():
            if self._model.progress != shown:
                shown = self._model.progress
                yield self._step(shown)
            change = asyncio.ensure_future(self._model.next_change())
            try:
                await asyncio.wait({change, self._waiting}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                change.cancel()

    def _step(self, sentence: str) -> bytes:
        if self._path.startswith(ANTHROPIC_ROUTE):
            return typed_frame({"type": "ping"})
        if self._framing is JSON_LINES:
            return JSON_LINES.filler
        line = " ".join(f"loading {self._model.name}: {sentence}".split())
        return f": {line}\n".encode()

    def _failure(self, error: EbbError) -> bytes:
        """Encode the error that ends the stream, as the answer of each API does."""
        body = dict(format_of(self._path).body(error, self._request_id))
        if self._framing is JSON_LINES:
            return json_line(body)
        if self._path.startswith(ANTHROPIC_ROUTE):
            return typed_frame(body)
        if self._path == RESPONSES_ROUTE:
            return numbered_frame(
                {"type": "error", "code": error.code, "message": error.message, "param": error.param}
                | {"sequence_number": 0}
            )
        return data_frame(body)
