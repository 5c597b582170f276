"""Prompts of requests that nothing waits for but their client: a long one is not tokenized once the client has left."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from starlette.requests import Request

from app.host.backend import Backend
from app.http.client_presence import stop_of
from app.http.request_body import apart_if_long
from app.prompts.stateless import WholePrompt, WholePrompts
from app.prompts.tokenization import to_ids
from app.tenants.gate import gate_of
from models.chat.format import Message
from models.thinking import ThinkingMode

T = TypeVar("T")


async def whole_prompt(
    request: Request,
    engine: Backend,
    prompts: WholePrompts,
    turns: Callable[[], Sequence[Message]],
    *,
    param: str = "messages",
    thinking: ThinkingMode | None = None,
    opening: str = "",
) -> WholePrompt:
    """Build the prompt for an answer to the messages of a request. The rest is as in `WholePrompts.prompt`.

    turns: returns the messages.
    """
    gate, stop = gate_of(request), stop_of(request)
    messages = await apart_if_long(request, turns)
    return await prompts.prompt(gate, engine, messages, param=param, thinking=thinking, opening=opening, stop=stop)


async def text_ids(request: Request, engine: Backend, encode: Callable[[], T], num_characters: int, *, param: str) -> T:
    """Return `encode()`, which tokenizes a text of a request. The rest is as in `to_ids`."""
    return await to_ids(gate_of(request), engine, encode, num_characters, param=param, stop=stop_of(request))
