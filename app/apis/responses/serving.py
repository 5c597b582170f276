"""Delivery of a response to its client.

When the client disconnects, the run is stopped, unless the response is in the background.
"""

import asyncio
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.responses.events import BEFORE_THE_FIRST, ResponseEvents
from app.apis.responses.parsed_answer import parse_apart
from app.apis.responses.serializer import response_json
from app.apis.responses.text_logprobs import TextLogprobs
from app.domain.response_record import ResponseRecord
from app.host.backend import TextTokenizer
from app.runs.run import Run
from app.runs.service import RunRegistry
from app.serving.request import ending_in_words
from app.transport.event_stream import EventStream
from app.transport.frames import EVENTS_WITH_IDS


def event_stream(events: ResponseEvents, after: int, on_close: Callable[[], None] | None = None) -> Response:
    """Answer with the events that have a number above `after`."""
    return EventStream(
        lambda _: ending_in_words(events.frames(after), events.failure),
        headers={},
        framing=EVENTS_WITH_IDS,
        refused=events.failure,
        on_close=on_close,
    )


def streamed(
    runs: RunRegistry,
    record: ResponseRecord,
    run: Run,
    tokenizer: TextTokenizer,
    *,
    is_stored: bool,
    shows_progress: bool,
) -> Response:
    """Answer with the events of the response `record`.

    tokenizer: names the tokens of log probabilities.
    is_stored: whether the response can be retrieved later. Otherwise its run is forgotten when the connection ends.
    shows_progress: as in `ResponseEvents`.
    """

    def on_close() -> None:
        if not record.background:
            runs.stop(run)
        run.logprobs = None
        if not is_stored:
            runs.forget(run)

    logprobs = logprobs_of(run, tokenizer)
    events = ResponseEvents(record, run, is_stored=is_stored, shows_progress=shows_progress, logprobs=logprobs)
    return event_stream(events, BEFORE_THE_FIRST, on_close)


def logprobs_of(run: Run, tokenizer: TextTokenizer) -> TextLogprobs | None:
    """Return the log probabilities of the texts of `run`; None if its client wants none."""
    return TextLogprobs(tokenizer, run.logprobs) if run.logprobs is not None else None


async def collect_response(
    request: Request, runs: RunRegistry, record: ResponseRecord, run: Run, tokenizer: TextTokenizer, *, is_stored: bool
) -> Response:
    """Answer with the whole response. Raise the error with which its run failed.

    tokenizer: as in `streamed`.
    """
    logprobs = logprobs_of(run, tokenizer)
    gone = asyncio.ensure_future(request.receive())
    ended = asyncio.ensure_future(run.ended.wait())
    try:
        await asyncio.wait((gone, ended), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        ended.cancel()
        # Has no effect on a run that has ended.
        runs.stop(run)
        if not is_stored:
            runs.forget(run)
    await run.ended.wait()
    run.logprobs = None
    if run.failure is not None:
        raise run.failure
    if logprobs is not None:
        whole = await ResponseEvents(record, run, is_stored=is_stored, logprobs=logprobs).whole()
        return await asyncio.to_thread(JSONResponse, whole)
    return JSONResponse(response_json(record, await parse_apart(run.answer), is_stored=is_stored))
