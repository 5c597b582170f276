"""Several answers to one request: each is a request to the engine, and all of them go with their client."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.backend import Backend, GenerationStream
from app.event_stream import EventStream
from app.failures import failure_of
from app.openai_shapes import TextShape
from app.prompts import generate
from app.request_log import log_finished
from app.schemas.sampling import GenerationRequest
from app.tenant_gate import gate_of
from engine.errors import EngineError
from engine.outputs import RequestOutput, joined
from engine.sampling_params import SamplingParams

logger = logging.getLogger(__name__)


async def answer_several(
    request: Request,
    engine: Backend,
    fields: GenerationRequest,
    shapes: Sequence[TextShape],
    *,
    prompts: Sequence[Sequence[int]],
    params: SamplingParams,
) -> Response:
    """Queue all prompts and answer with one stream or one body.

    Raises what the engine or the tenant's limits refuse one of them with, and what `failure_of` says if one of them has
    no answer; none goes on then.
    """
    request_id: str = request.state.request_id
    streams: list[GenerationStream] = []
    try:
        # One after the other, so that those are known that were queued before one is refused.
        for prompt in prompts:
            stream = await generate(
                gate_of(request),
                engine,
                prompt,
                params,
                urgency=fields.urgency(),
                request_id=request_id,
                rename=fields.client_field,
            )
            streams.append(stream)
    except BaseException:
        _abort(engine, streams)
        raise
    if fields.stream:
        return _streamed(engine, streams, shapes, request_id)
    return await _collected(request, engine, streams, shapes, request_id)


def _abort(engine: Backend, streams: Sequence[GenerationStream]) -> None:
    """Those that have ended are not touched."""
    for stream in streams:
        engine.abort(stream.request_id)


async def _collected(
    request: Request,
    engine: Backend,
    streams: Sequence[GenerationStream],
    shapes: Sequence[TextShape],
    request_id: str,
) -> Response:
    gone = asyncio.ensure_future(request.receive())
    reading = asyncio.gather(*map(_read_all, streams))
    try:
        await asyncio.wait((gone, reading), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        _abort(engine, streams)
    answers = await reading
    for each in answers:
        log_finished(request_id, each)
    for each in answers:
        if (failure := failure_of(each)) is not None:
            raise failure
    choices = [shape.choice(each) for shape, each in zip(shapes, answers, strict=True)]
    return JSONResponse(shapes[0].body(choices, answers))


async def _read_all(stream: GenerationStream) -> RequestOutput:
    told = [output async for output in stream]
    if not told or not told[-1].finished:
        raise EngineError("The engine ended the answer without a reason")
    return joined(told)


def _streamed(
    engine: Backend, streams: Sequence[GenerationStream], shapes: Sequence[TextShape], request_id: str
) -> Response:
    """Chunks of all answers as they come; each has the index of its own."""

    async def frames(_: object) -> AsyncGenerator[bytes, None]:
        opened = [False] * len(streams)
        lasts: list[RequestOutput] = []
        async with aclosing(_outputs_of_all(streams)) as outputs:
            async for index, output in outputs:
                shape = shapes[index]
                frame = b"" if opened[index] else shape.opening()
                opened[index] = True
                frame += shape.step(output)
                if output.finished:
                    log_finished(request_id, output)
                    lasts.append(output)
                    if (failure := failure_of(output)) is not None:
                        yield frame + shape.failure(failure)
                        return
                    frame += shape.reason(output)
                if frame:
                    yield frame
        yield shapes[0].closing(lasts)

    def on_close() -> None:
        _abort(engine, streams)

    return EventStream(frames, headers={}, on_close=on_close)


async def _outputs_of_all(streams: Sequence[GenerationStream]) -> AsyncGenerator[tuple[int, RequestOutput], None]:
    """As they come, with the number of the stream. Whoever reads slowly finds what has merged meanwhile."""
    ready: asyncio.Queue[tuple[int, RequestOutput]] = asyncio.Queue(maxsize=1)

    async def forward(index: int, stream: GenerationStream) -> None:
        async for output in stream:
            await ready.put((index, output))

    async with asyncio.TaskGroup() as tasks:
        forwarding = [tasks.create_task(forward(index, stream)) for index, stream in enumerate(streams)]
        try:
            unfinished = len(streams)
            while unfinished:
                index, output = await ready.get()
                unfinished -= output.finished
                yield index, output
        finally:
            for task in forwarding:
                task.cancel()
