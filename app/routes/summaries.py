"""POST /api/conversations/{id}/summary: a summary of messages that the next question will leave out."""

from dataclasses import replace

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.conversations.summary_request import summary_request
from app.http.request_body import read_body
from app.prompts.tokenization import generate
from app.schemas.conversations import SummaryWanted
from app.schemas.response_bodies.prompt_size import Summary
from app.services import services_of
from app.serving.request import Said, collect_outputs, outputs_of
from app.tenants.gate import gate_of


async def summarize(request: Request) -> Response:
    """Have the model summarize the beginning of a conversation's current path. Nothing is stored."""
    services = services_of(request)
    engine = services.host.require()
    fields = await read_body(request, SummaryWanted)
    asked = await summary_request(engine, services.store, services.turns, request.path_params["id"], fields.left_out)
    request_id: str = request.state.request_id
    asked = replace(asked, request_id=request_id)
    [stream] = await generate(gate_of(request), engine, asked, rename=lambda _: "left_out")
    [summary] = await collect_outputs(request, engine, [stream], [outputs_of(stream, None, Said())], request_id)
    return JSONResponse(Summary(summary=summary.text.strip()))


routes = [Route("/api/conversations/{id}/summary", summarize, methods=["POST"])]
