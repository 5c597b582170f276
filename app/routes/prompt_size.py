"""POST /api/prompt-size: the tokens that a message would take with its conversation, for a page where a user types."""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.domain.records import Conversation
from app.http.request_body import read_body
from app.schemas.conversations import UnsentMessage
from app.schemas.response_bodies.prompt_size import PromptSize
from app.services import services_of
from engine.errors import PromptTooLongError


async def measure_prompt(request: Request) -> Response:
    """Count the tokens of the prompt that a message would make at the head of a conversation, or of a new one."""
    services = services_of(request)
    engine = services.host.require()
    fields = await read_body(request, UnsentMessage)
    if fields.conversation_id is not None:
        conversation = await services.store.conversations.get(fields.conversation_id)
    else:
        now = time.time()
        conversation = Conversation("", None, None, fields.system_prompt, {}, now, now)
    path = await services.store.messages.path(conversation.head_id)
    try:
        tokens: int | None = len(await services.turns.prompt_of(conversation, path, fields.content))
    except PromptTooLongError:
        tokens = None
    return JSONResponse(PromptSize(tokens=tokens, window=engine.max_model_len))


routes = [Route("/api/prompt-size", measure_prompt, methods=["POST"])]
