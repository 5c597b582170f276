"""One request of OpenAI's API from the engine's stream to the client. Whoever leaves aborts what was asked for."""

import asyncio
import logging
from collections.abc import AsyncGenerator

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.backend import Backend, GenerationStream
from app.error_responses import error_body
from app.event_stream import EventStream
from app.failures import failure_of
from app.openai_shapes import AnswerShape
from app.request_log import log_finished
from app.sse import DONE_FRAME, data_frame
from engine.errors import EngineError, NotFoundError
from engine.outputs import RequestOutput

logger = logging.getLogger(__name__)


def check_model(engine: Backend, name: str) -> None:
    """Raises NotFoundError if the client asks for a model that is not served."""
    if name != engine.model_name:
        raise NotFoundError(
            f"The model {name!r} does not exist; this server has {engine.model_name!r}",
            param="model",
            code="model_not_found",
        )


def streamed(
    engine: Backend, stream: GenerationStream, shape: AnswerShape, *, include_usage: bool, request_id: str
) -> Response:
    """Answer with one event per step."""
    ended = asyncio.Event()

    async def frames() -> AsyncGenerator[bytes, None]:
        opened = False
        async for output in stream:
            if output.finished:
                ended.set()
                log_finished(request_id, output)
            frame = b"" if opened else shape.opening()
            opened = True
            if output.text:
                frame += shape.text(output.text)
            if output.finished:
                frame += _ending(shape, output, include_usage)
            if frame:
                yield frame

    def on_close() -> None:
        if not ended.is_set():
            logger.info("%s abort: the client left", request_id)
            engine.abort(stream.request_id)

    return EventStream(frames(), headers={}, on_close=on_close)


async def collected(
    request: Request, engine: Backend, stream: GenerationStream, shape: AnswerShape, *, request_id: str
) -> Response:
    """Answer with the whole text. Raises what `failure_of` says if there is none."""
    gone = asyncio.ensure_future(request.receive())
    answer = asyncio.ensure_future(_read_all(stream))
    try:
        await asyncio.wait((gone, answer), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        # A request that has ended is not touched by this.
        engine.abort(stream.request_id)
    text, last = await answer
    log_finished(request_id, last)
    if (failure := failure_of(last)) is not None:
        raise failure
    assert last.finish_reason is not None
    assert last.usage is not None
    return JSONResponse(shape.whole(text, last.finish_reason, last.usage))


async def _read_all(stream: GenerationStream) -> tuple[str, RequestOutput]:
    texts: list[str] = []
    async for output in stream:
        texts.append(output.text)
        if output.finished:
            return "".join(texts), output
    raise EngineError("The engine ended the answer without a reason")


def _ending(shape: AnswerShape, output: RequestOutput, include_usage: bool) -> bytes:
    if (failure := failure_of(output)) is not None:
        return data_frame({"error": error_body(failure)})
    assert output.finish_reason is not None
    frame = shape.finish(output.finish_reason)
    if include_usage and output.usage is not None:
        frame += shape.usage(output.usage)
    return frame + DONE_FRAME
