"""POST /api/prompt-size: the tokens that a message would take with its conversation, for a page where a user types."""

import time

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.conversations.fitting import Fitting
from app.domain.left_out import beginning_of
from app.domain.records import Conversation, last_model
from app.http.operation import Operation
from app.schemas.conversations import UnsentMessage
from app.schemas.response_bodies.prompt_size import PromptSize
from app.services import services_of

ROOM = 4
"""Leaving out messages is to make room for the next turns: this part of the window, one fourth, stays free."""


async def measure_prompt(request: Request, fields: UnsentMessage) -> Response:
    """Count the tokens of the prompt that a message would make at the head of a conversation, or of a new one."""
    services = services_of(request)
    host = services.model.host
    host.require(fields.model)
    if fields.conversation_id is not None:
        conversation = await services.store.conversations.get(fields.conversation_id)
    else:
        now = time.time()
        conversation = Conversation(
            id="",
            title=None,
            head_id=None,
            system_prompt=fields.system_prompt,
            params={},
            created_at=now,
            updated_at=now,
        )
    path = await services.store.messages.path(conversation.head_id)
    engine = host.require(fields.model) if fields.model is not None else host.model_of(last_model(path))
    window = engine.max_model_len
    fitting = Fitting(services.turns, engine, conversation, path, fields.content, beginning_of(path))
    tokens, left_out = await fitting.tokens(), None
    if tokens is None or tokens >= window:
        left_out = await fitting.fewest_left_out(window - window // ROOM) or await fitting.fewest_left_out(window - 1)
    return JSONResponse(PromptSize(tokens=tokens, window=window, left_out=left_out))


operations = [
    Operation("POST", "/api/prompt-size", measure_prompt, needs_model=True, loads_model=False, answer=PromptSize),
]
