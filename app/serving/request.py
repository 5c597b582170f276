"""One request of any API, from its prompt to its answer. A client that disconnects aborts its request."""

import asyncio
import logging
from array import array
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from io import StringIO
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.failures import failure_of
from app.host.backend import Backend, GenerationStream
from app.http.request_body import ignored_of
from app.logs.request_log import log_finished
from app.prompts.stateless import Remember
from app.prompts.thinking import note_vain_budget
from app.prompts.tokenization import LONG_TEXT, apart_if, generate
from app.schemas.sampling import AnswerRequest
from app.tenants.gate import gate_of
from app.transport.direct_writer import DirectWriter
from app.transport.event_stream import EventStream
from app.transport.frames import Framing
from engine.api.errors import EbbError, EngineError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput, joined
from engine.api.sampling_params import SamplingParams

logger = logging.getLogger(__name__)


class AnswerShape(Protocol):
    """Serializer of one answer for an API, as frames of a stream or as one body."""

    @property
    def framing(self) -> Framing:
        """Framing of the stream."""

    def opening(self) -> bytes:
        """Return the frames that precede the first text; may be empty."""

    def step(self, output: RequestOutput) -> bytes:
        """Return the frames for the reasoning and the text that one step added; may be empty."""

    def ending(self, last: RequestOutput) -> bytes:
        """Return the frames that follow the text of an answer. `last` has a finish_reason and usage."""

    def failure(self, error: EbbError) -> bytes:
        """Return the frames that end a stream with an error."""

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the body of an answer that is not streamed. `answer` has a finish_reason and usage."""


async def answer(
    request: Request,
    engine: Backend,
    fields: AnswerRequest,
    shape: AnswerShape,
    *,
    prompt: Sequence[int],
    params: SamplingParams,
    remember: Remember | None = None,
    adapter: str = "",
    followed: Callable[[GenerationStream], GenerationStream] | None = None,
) -> Response:
    """Queue `prompt`, and respond with a stream or with one body, as `fields` ask.

    remember: called before the client sees the end of the answer, or when it has left.
    adapter: as in `GenerateRequest`.
    followed: makes the stream of the whole answer from that of its first request; None if there is one request.

    Raise the engine's or the tenant's refusal of the request. Without a stream, also raises the error of `failure_of`
    if the answer is incomplete.
    """
    request_id: str = request.state.request_id
    note_vain_budget(engine, params, ignored_of(request).add, fields.client_field)
    [stream] = await generate(
        gate_of(request),
        engine,
        GenerateRequest(
            prompt_token_ids=prompt,
            params=params,
            request_id=request_id,
            adapter=adapter,
            urgency=fields.urgency(),
            num_marked=round(fields.marked_share * len(prompt)),
            promise=gate_of(request).promise(fields.wanted_promise, len(prompt)),
            progress_every=fields.progress_every,
            is_stored=False,
        ),
        rename=fields.client_field,
    )
    if followed is not None:
        stream = followed(stream)
    if fields.stream:
        return streamed(engine, stream, shape, request_id, remember)
    [whole] = await collect_outputs(
        request, engine, [stream], [outputs_of(stream, remember, SpokenParts())], request_id
    )
    return JSONResponse(await apart_if(len(whole.text) >= LONG_TEXT, lambda: shape.whole(whole)))


class SpokenParts:
    """Ids and text received so far, packed: an object per token would take far more memory."""

    __slots__ = ("ids", "text")

    def __init__(self) -> None:
        self.ids = array("I")
        self.text = StringIO()

    def add(self, output: RequestOutput) -> None:
        """Append one output."""
        self.ids.extend(output.token_ids)
        self.text.write(output.text)


async def outputs_of(
    stream: GenerationStream, remember: Remember | None, parts: SpokenParts
) -> AsyncGenerator[RequestOutput, None]:
    """Yield the outputs of `stream`. The last one is held back until the answer is remembered."""
    last = None
    try:
        async for output in stream:
            parts.add(output)
            if output.finished:
                last = output
            else:
                yield output
    finally:
        if parts.ids and remember is not None:
            await remember(parts.ids, parts.text.getvalue(), "" if last is None else last.cut_before)
    if last is not None:
        yield last


def streamed(
    engine: Backend, stream: GenerationStream, shape: AnswerShape, request_id: str, remember: Remember | None
) -> Response:
    """Stream an answer with one frame per step.

    remember: as in `answer`.
    """
    ended = asyncio.Event()

    async def frames(writer: DirectWriter | None) -> AsyncGenerator[bytes, None]:
        opened, at_rest, parts = False, False, SpokenParts()

        def on_output(output: RequestOutput) -> bool:
            """Write the frame of a step if all earlier frames are written. The last output is left to `frames`."""
            if output.finished or not at_rest or writer is None or not writer.ready:
                return False
            parts.add(output)
            if frame := shape.step(output):
                writer.write(frame)
            return True

        stream.set_listener(on_output)
        async with aclosing(outputs_of(stream, remember, parts)) as outputs:
            async for output in outputs:
                at_rest = False
                if output.finished:
                    ended.set()
                    log_finished(request_id, output)
                frame = b"" if opened else shape.opening()
                opened = True
                frame += shape.step(output)
                if output.finished:
                    failure = failure_of(output)
                    frame += shape.ending(output) if failure is None else shape.failure(failure)
                if frame:
                    yield frame
                at_rest = True

    def on_close() -> None:
        if not ended.is_set():
            logger.info("%s abort: the client disconnected, or its access ended", request_id)
            engine.abort(stream.request_id)

    return EventStream(
        lambda writer: ending_in_words(frames(writer), shape.failure),
        headers={},
        framing=shape.framing,
        refused=shape.failure,
        on_close=on_close,
    )


async def ending_in_words(
    frames: AsyncGenerator[bytes, None], failure: Callable[[EbbError], bytes]
) -> AsyncGenerator[bytes, None]:
    """Yield from `frames`. A defect in making them ends the stream with the error that `failure` writes."""
    async with aclosing(frames):
        try:
            async for frame in frames:
                yield frame
        except Exception:
            logger.exception("a stream failed; it ends with an error")
            yield failure(EngineError("The server failed while writing the answer. Try again."))


async def collect_outputs(
    request: Request,
    engine: Backend,
    streams: Sequence[GenerationStream],
    outputs: Sequence[AsyncGenerator[RequestOutput, None]],
    request_id: str,
) -> list[RequestOutput]:
    """Read `outputs`, the outputs of `streams`, to their end and return the whole answers.

    Aborts all streams if the client disconnects. Raise the error of `failure_of` if one of the answers failed.
    """
    gone = asyncio.ensure_future(request.receive())
    reading = asyncio.gather(*map(_read_all, outputs))
    try:
        await asyncio.wait((gone, reading), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        abort_all(engine, streams)
    answers = await reading
    for each in answers:
        log_finished(request_id, each)
    for each in answers:
        if (failure := failure_of(each)) is not None:
            raise failure
    return answers


def abort_all(engine: Backend, streams: Sequence[GenerationStream]) -> None:
    """Abort the streams that have not ended."""
    for stream in streams:
        engine.abort(stream.request_id)


async def _read_all(outputs: AsyncGenerator[RequestOutput, None]) -> RequestOutput:
    """Join all outputs of an answer. Raise EngineError if the last one has no finish_reason."""
    received = [output async for output in outputs]
    if received and received[-1].finished:
        return joined(received)
    raise EngineError("The engine ended the answer without a reason")
