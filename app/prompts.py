"""Text to token ids, and a request to the engine, with errors that name the client's own field."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.backend import Backend, GenerationStream
from app.tenant_gate import TenantGate
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams
from engine.urgency import Urgency
from models.errors import ModelError
from models.pangu.chat_format import Message
from models.thinking import ThinkingMode

T = TypeVar("T")

LONG_TEXT = 1 << 15
"""Characters from which tokenising takes more than a few milliseconds, so that it leaves the event loop."""

SAMPLE_CHARACTERS_PER_TOKEN = 6
SAMPLE_SLACK = 256
"""Tokens that the cut at the sample's end may add."""


async def to_ids(engine: Backend, encode: Callable[[], T], text: str, *, param: str, special: bool = False) -> T:
    """`encode()`, which tokenises `text` among other things; in a thread when that takes long.

    Megabytes that cannot fit are refused by their beginning, so that nobody waits for all of them to be tokenised.

    Raises:
        InvalidRequestError: the beginning alone is beyond the window, or the template refuses the messages.
    """
    sample = text[: engine.max_model_len * SAMPLE_CHARACTERS_PER_TOKEN]
    try:
        if len(text) > len(sample):
            count = len(await asyncio.to_thread(engine.tokenizer.encode, sample, special=special))
            if count > engine.max_model_len + SAMPLE_SLACK:
                raise InvalidRequestError(
                    f"the prompt has far more than the {engine.max_model_len} tokens of this model's window",
                    param=param,
                    code="context_length_exceeded",
                )
        return encode() if len(text) < LONG_TEXT else await asyncio.to_thread(encode)
    except ModelError as exc:
        raise InvalidRequestError(str(exc), param=param) from exc


async def chat_ids(
    engine: Backend, messages: Sequence[Message], *, param: str, thinking: ThinkingMode | None = None
) -> list[int]:
    """The ids of a conversation, up to where its next answer begins. Raises as `to_ids` does."""
    text = "".join(message.content for message in messages)
    return await to_ids(engine, lambda: engine.chat_format.render(messages, thinking=thinking), text, param=param)


async def generate(
    gate: TenantGate,
    engine: Backend,
    prompt_ids: Sequence[int],
    params: SamplingParams,
    *,
    urgency: Urgency,
    request_id: str,
    rename: Callable[[str], str],
    answers: int = 1,
) -> GenerationStream:
    """Queue a request of a tenant. `rename` turns the engine's name of a field into the client's. answers: see
    `TenantGate.generate`."""
    try:
        await engine.prepare(params)
        return gate.generate(engine, prompt_ids, params, request_id=request_id, urgency=urgency, answers=answers)
    except InvalidRequestError as exc:
        if exc.param is not None:
            is_form, exc.param = exc.param == "form", rename(exc.param)
            if is_form:
                exc.message = f"{exc.param}: {exc.message}"
        raise
