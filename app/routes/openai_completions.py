"""POST /v1/completions."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.openai_shapes import TextShape
from app.prompts import to_ids
from app.request_body import read_body
from app.schemas.completions import CompletionRequest
from app.services import services_of
from app.serving import answer, check_model


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
    shape = TextShape(model=engine.model_name, fingerprint=host.fingerprint, include_usage=fields.include_usage)
    params = fields.sampling_params(engine.sampling_defaults)
    return await answer(request, engine, fields, shape, prompt=ids, params=params)


routes = [Route("/v1/completions", completions, methods=["POST"])]
