"""POST /v1/chat/completions."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.openai_shapes import ChatShape
from app.prompts import chat_ids
from app.request_body import read_body
from app.schemas.chat_completions import ChatCompletionRequest
from app.services import services_of
from app.serving import answer, check_model


async def chat_completions(request: Request) -> Response:
    """Answer a list of messages."""
    host = services_of(request).host
    engine = host.require()
    fields = await read_body(request, ChatCompletionRequest)
    check_model(engine, fields.model)
    turns = [message.turn() for message in fields.messages]
    prompt = await chat_ids(engine, turns, param="messages", thinking=fields.thinking_mode(engine))
    shape = ChatShape(model=engine.model_name, fingerprint=host.fingerprint, include_usage=fields.include_usage)
    params = fields.sampling_params(engine.sampling_defaults)
    return await answer(request, engine, fields, shape, prompt=prompt, params=params)


routes = [Route("/v1/chat/completions", chat_completions, methods=["POST"])]
