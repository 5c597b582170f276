"""POST /v1/chat/completions."""

import time

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.ids import new_id
from app.openai_serving import check_model, collected, streamed
from app.openai_shapes import ChatShape
from app.prompts import generate, to_ids
from app.request_body import read_body
from app.schemas.chat_completions import ChatCompletionRequest
from app.services import services_of
from models.pangu.chat_format import Message


async def chat_completions(request: Request) -> Response:
    """Answer a list of messages."""
    host = services_of(request).host
    engine = host.require()
    fields = await read_body(request, ChatCompletionRequest)
    check_model(engine, fields.model)
    messages = [
        Message("system" if message.role == "developer" else message.role, message.text) for message in fields.messages
    ]
    text = "".join(message.content for message in messages)
    prompt = await to_ids(engine, lambda: engine.chat_format.render(messages), text, param="messages")
    request_id: str = request.state.request_id
    stream = generate(
        engine,
        prompt,
        fields.sampling_params(),
        urgency=fields.urgency(),
        request_id=request_id,
        rename=fields.client_field,
    )
    shape = ChatShape(
        new_id("chatcmpl"),
        created=int(time.time()),
        model=engine.model_name,
        fingerprint=host.fingerprint,
        include_usage=fields.include_usage,
    )
    if fields.stream:
        return streamed(engine, stream, shape, include_usage=fields.include_usage, request_id=request_id)
    return await collected(request, engine, stream, shape, request_id=request_id)


routes = [Route("/v1/chat/completions", chat_completions, methods=["POST"])]
