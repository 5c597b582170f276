"""Tokenization of prompts and submission of requests, with errors that name the client's own field."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from app.host.backend import Backend, GenerationStream
from app.tenants.gate import TenantGate
from engine.api.errors import InvalidRequestError, PromptTooLongError
from engine.api.generate_request import GenerateRequest
from models.chat.format import Message
from models.errors import ModelError, TextTooLongError
from models.thinking import ThinkingMode

T = TypeVar("T")

LONG_TEXT = 1 << 13
"""Characters from which tokenizing takes more than a few milliseconds and is moved off the event loop."""

MESSAGE_CHARACTERS = 64
"""Number of characters that take as long to tokenize as a message takes to render."""

MANY_MESSAGES = LONG_TEXT // MESSAGE_CHARACTERS
"""Messages from which a pass over them is moved off the event loop."""


def size_of(messages: Sequence[Message]) -> int:
    """Return the cost of rendering and tokenizing `messages`, in characters of text."""
    return sum(len(message.text) + MESSAGE_CHARACTERS for message in messages)


async def apart_if(is_long: bool, work: Callable[[], T]) -> T:
    """Run `work`, in a thread if it would block the event loop."""
    return await asyncio.to_thread(work) if is_long else work()


async def size_apart(messages: Sequence[Message]) -> int:
    """Return the size of `messages`, counted in a thread if they are many."""
    return await apart_if(len(messages) >= MANY_MESSAGES, lambda: size_of(messages))


def never_stop() -> None:
    """Raise nothing: the text is tokenized even if its client has left."""


async def to_ids(
    gate: TenantGate,
    engine: Backend,
    encode: Callable[[], T],
    num_characters: int,
    *,
    param: str,
    stop: Callable[[], None] = never_stop,
) -> T:
    """Return `encode()`, which tokenizes `num_characters` among other work.

    Long texts are encoded in a thread, and tenants take turns. A text that cannot fit costs no more than one that does.

    stop: called when it is the turn of a long text; raises if its client has left.

    Raises:
        PromptTooLongError: the text far exceeds the context window.
        InvalidRequestError: the template refuses the messages.
        OverloadedError: too many long texts of this tenant are waiting.
    """
    try:
        if num_characters > engine.tokenizer.longest_text:
            raise TextTooLongError("it has too many characters")
        if num_characters < LONG_TEXT:
            return encode()
        async with gate.long_text(num_characters):
            stop()
            return await asyncio.to_thread(encode)
    except TextTooLongError as error:
        raise PromptTooLongError(
            f"This model's maximum context length is {engine.max_model_len} tokens. However, the prompt is far longer: "
            f"{error}",
            param=param,
            num_tokens=None,
            maximum=engine.max_model_len,
        ) from error
    except ModelError as error:
        raise InvalidRequestError(str(error), param=param) from error


async def chat_ids(
    gate: TenantGate, engine: Backend, messages: Sequence[Message], *, param: str, thinking: ThinkingMode | None = None
) -> list[int]:
    """Return the ids of a conversation, up to the start of its next answer. Raise as `to_ids` does."""
    return await to_ids(
        gate,
        engine,
        lambda: engine.chat_format.render(messages, thinking=thinking),
        await size_apart(messages),
        param=param,
    )


async def generate(
    gate: TenantGate,
    engine: Backend,
    request: GenerateRequest,
    *,
    rename: Callable[[str], str],
) -> list[GenerationStream]:
    """Queue a tenant's request, and return a stream for each of its answers.

    Raise the refusal of the engine or of the tenant's limits.

    rename: maps the engine's name of a field to the client's.
    """
    try:
        if (form := request.params.form) is not None:
            params = replace(request.params, form=replace(form, path=rename("form")))
            request = replace(request, params=params)
        return await gate.generate(engine, request)
    except InvalidRequestError as exc:
        if exc.param is not None:
            name, exc.param = exc.param, rename(exc.param)
            if name == "form":
                exc.message = f"{exc.param}: {exc.message}"
            elif exc.message.startswith(f"{name} "):
                exc.message = exc.param + exc.message.removeprefix(name)
        raise
