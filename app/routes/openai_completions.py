"""POST /v1/completions."""

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.ids import new_id
from app.openai_serving import check_model, collected, streamed
from app.openai_shapes import TextShape
from app.prompts import generate, to_ids
from app.request_body import read_body
from app.schemas.completions import CompletionRequest
from app.services import services_of


async def completions(request: Request) -> Response:
    """Continue a text, or a list of token ids. The text of a control token counts as that token here."""
    host = services_of(request).host
    engine = host.require()
    fields = await read_body(request, CompletionRequest)
    check_model(engine, fields.model)
    prompt = fields.single_prompt()
    if isinstance(prompt, str):
        text = prompt
        ids = await to_ids(engine, lambda: engine.tokenizer.encode_prompt(text), text, param="prompt", special=True)
    else:
        ids = prompt
    request_id: str = request.state.request_id
    stream = generate(
        engine,
        ids,
        fields.sampling_params(),
        urgency=fields.urgency(),
        request_id=request_id,
        rename=fields.client_field,
    )
    shape = TextShape(
        new_id("cmpl"),
        created=int(time.time()),
        model=engine.model_name,
        fingerprint=host.fingerprint,
        include_usage=fields.include_usage,
    )
    if fields.stream:
        return streamed(engine, stream, shape, include_usage=fields.include_usage, request_id=request_id)
    return await collected(request, engine, stream, shape, request_id=request_id)


routes = [Route("/v1/completions", completions, methods=["POST"])]
