"""Text to token ids, and a request to the engine, with errors that name the client's own field."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from app.backend import Backend, GenerationStream
from app.tenant_gate import TenantGate
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams
from engine.urgency import Urgency
from models.errors import ModelError, TextTooLongError
from models.pangu.chat_format import Message
from models.thinking import ThinkingMode

T = TypeVar("T")

LONG_TEXT = 1 << 13
"""Characters from which tokenising takes more than a few milliseconds, so that it leaves the event loop."""

MESSAGE_CHARACTERS = 64
"""Characters of text that cost as much as rendering a message."""


def size_of(messages: Sequence[Message]) -> int:
    """Return the characters of text that cost as much as these messages."""
    return sum(len(message.text) + MESSAGE_CHARACTERS for message in messages)


async def to_ids(gate: TenantGate, engine: Backend, encode: Callable[[], T], num_characters: int, *, param: str) -> T:
    """Return `encode()`, which tokenises `num_characters` among other things.

    Long texts are encoded in a thread, by turns of their tenants. A text that cannot fit costs no more than one that
    does.

    Raises:
        InvalidRequestError: the text is far beyond the window, or the template refuses the messages.
        OverloadedError: too many long texts of this tenant wait.
    """
    try:
        if num_characters > engine.tokenizer.longest_text:
            raise TextTooLongError("it has too many characters")
        if num_characters < LONG_TEXT:
            return encode()
        async with gate.long_text(num_characters):
            return await asyncio.to_thread(encode)
    except TextTooLongError as error:
        raise InvalidRequestError(
            f"the prompt has far more than the {engine.max_model_len} tokens of this model's window: {error}",
            param=param,
            code="context_length_exceeded",
        ) from error
    except ModelError as error:
        raise InvalidRequestError(str(error), param=param) from error


async def chat_ids(
    gate: TenantGate, engine: Backend, messages: Sequence[Message], *, param: str, thinking: ThinkingMode | None = None
) -> list[int]:
    """Return the ids of a conversation, up to where its next answer begins. Raises as `to_ids` does."""
    return await to_ids(
        gate,
        engine,
        lambda: engine.chat_format.render(messages, thinking=thinking),
        size_of(messages),
        param=param,
    )


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
    """Queue a request of a tenant. Raises what the engine or the tenant's limits refuse it with.

    rename: turns the engine's name of a field into the client's. answers: see `TenantGate.generate`.
    """
    try:
        gate.check(engine, num_tokens=len(prompt_ids), answers=answers)
        if params.form is not None:
            params = replace(params, form=replace(params.form, path=rename("form")))
        await engine.prepare(params, prompt_ids, tenant=gate.tenant)
        return gate.generate(engine, prompt_ids, params, request_id=request_id, urgency=urgency, answers=answers)
    except InvalidRequestError as exc:
        if exc.param is not None:
            is_form, exc.param = exc.param == "form", rename(exc.param)
            if is_form:
                exc.message = f"{exc.param}: {exc.message}"
        raise
