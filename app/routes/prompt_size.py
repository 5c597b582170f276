"""POST /api/prompt-size: the tokens that a message would take with its conversation, for a page where a user types."""

import time
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.conversations.turns import Turns
from app.domain.left_out import num_left_out
from app.domain.records import Conversation, Message
from app.http.request_body import read_body
from app.schemas.conversations import UnsentMessage
from app.schemas.response_bodies.prompt_size import PromptSize
from app.services import services_of
from engine.errors import PromptTooLongError

ROOM = 4
"""Leaving out messages is to make room for the next turns: this part of the window, one fourth, stays free."""


async def measure_prompt(request: Request) -> Response:
    """Count the tokens of the prompt that a message would make at the head of a conversation, or of a new one."""
    services = services_of(request)
    window = services.host.require().max_model_len
    fields = await read_body(request, UnsentMessage)
    if fields.conversation_id is not None:
        conversation = await services.store.conversations.get(fields.conversation_id)
    else:
        now = time.time()
        conversation = Conversation("", None, None, fields.system_prompt, {}, now, now)
    path = await services.store.messages.path(conversation.head_id)
    measure = _Measure(services.turns, conversation, path, fields.content)
    tokens = await measure.tokens(None)
    over = tokens is None or tokens >= window
    left_out = await measure.fewest_left_out(window) if over else None
    return JSONResponse(PromptSize(tokens=tokens, window=window, left_out=left_out))


class _Measure:
    """Measure of the prompts that a message can make after a path."""

    def __init__(self, turns: Turns, conversation: Conversation, path: Sequence[Message], content: str) -> None:
        self._turns = turns
        self._conversation = conversation
        self._path = path
        self._content = content

    async def tokens(self, left_out: int | None) -> int | None:
        """Count the tokens of the prompt that lacks `left_out` messages; None if they are too many to be counted."""
        try:
            return len(await self._turns.prompt_of(self._conversation, self._path, self._content, left_out))
        except PromptTooLongError:
            return None

    async def fewest_left_out(self, window: int) -> int | None:
        """Return the least number of messages to leave out so that the prompt leaves room.

        If the message is too long for that, all messages are left out. Returns None if it does not fit even then. Fewer
        messages make fewer tokens, so the number is found by bisection.
        """
        now, end = num_left_out(self._path), len(self._path)
        starts = [at for at in range(now + 1, end) if self._path[at].role == "user"] + [end] * (end > now)
        low, high = 0, len(starts) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (
                (low, middle) if await self._fits(starts[middle], window - window // ROOM) else (middle + 1, high)
            )
        return starts[low] if starts and await self._fits(starts[low], window) else None

    async def _fits(self, left_out: int, window: int) -> bool:
        tokens = await self.tokens(left_out)
        return tokens is not None and tokens < window


routes = [Route("/api/prompt-size", measure_prompt, methods=["POST"])]
