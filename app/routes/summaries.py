"""POST /api/conversations/{id}/summary: a summary of messages that the next question will leave out."""

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.conversations.summary_request import summary_request
from app.http.error_formats import error_body
from app.http.operation import Operation
from app.prompts.tokenization import generate
from app.schemas.conversations import SummaryWanted
from app.schemas.response_bodies.prompt_size import Summary, SummaryDelta, SummaryError
from app.services import services_of
from app.serving.request import SpokenParts, collect_outputs, outputs_of, streamed
from app.tenants.gate import gate_of
from app.transport.frames import EVENTS, Framing
from app.transport.sse import named_frame
from engine.api.errors import EbbError
from engine.api.outputs import RequestOutput


class SummaryStream:
    """The events of a summary that is sent as it is written. Implements `app.serving.request.AnswerShape`."""

    framing: Framing = EVENTS

    def __init__(self) -> None:
        self._text = ""

    def opening(self) -> bytes:
        """Return no frames: a summary begins with its text."""
        return b""

    def step(self, output: RequestOutput) -> bytes:
        """Return the event with the text that one step added."""
        self._text += output.text
        return named_frame("delta", SummaryDelta(text=output.text)) if output.text else b""

    def ending(self, last: RequestOutput) -> bytes:  # noqa: ARG002
        """Return the event with the whole summary."""
        return named_frame("done", Summary(summary=self._text.strip()))

    def failure(self, error: EbbError) -> bytes:
        """Return the event that ends the stream with an error."""
        return named_frame("error", SummaryError(error=error_body(error)))

    def whole(self, answer: RequestOutput) -> dict[str, Any]:
        """Return the body of a summary that is not streamed."""
        return dict(Summary(summary=answer.text.strip()))


async def summarize(request: Request, fields: SummaryWanted) -> Response:
    """Have the model summarize the beginning of a conversation's current path. Nothing is stored."""
    services, conversation_id = services_of(request), request.path_params["id"]
    engine, asked = await summary_request(
        services.model.host, services.store, services.turns, conversation_id, fields.left_out
    )
    request_id: str = request.state.request_id
    asked = replace(asked, request_id=request_id)
    [stream] = await generate(gate_of(request), engine, asked, rename=lambda _: "left_out")
    if fields.stream:
        return streamed(engine, stream, SummaryStream(), request_id, None)
    [summary] = await collect_outputs(request, engine, [stream], [outputs_of(stream, None, SpokenParts())], request_id)
    return JSONResponse(SummaryStream().whole(summary))


operations = [
    Operation(
        "POST",
        "/api/conversations/{id}/summary",
        summarize,
        needs_model=True,
        answer=Summary,
        events={"delta": SummaryDelta, "done": Summary, "error": SummaryError},
    ),
]
