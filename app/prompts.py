"""Messages to token ids, and a request to the engine, with errors that name the client's own field."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar

from app.backend import Backend, GenerationStream
from engine.errors import InvalidRequestError
from engine.sampling_params import SamplingParams
from models.errors import ModelError

T = TypeVar("T")

LONG_TEXT = 1 << 15
"""Characters from which tokenising takes more than a few milliseconds, so that it leaves the event loop."""


async def to_ids(encode: Callable[[], T], characters: int, param: str) -> T:
    """`encode()`, in a thread when the text is long. A template that refuses the messages is the client's error."""
    try:
        return encode() if characters < LONG_TEXT else await asyncio.to_thread(encode)
    except ModelError as exc:
        raise InvalidRequestError(str(exc), param=param) from exc


def generate(
    engine: Backend,
    prompt_ids: Sequence[int],
    params: SamplingParams,
    *,
    request_id: str,
    rename: Callable[[str], str],
) -> GenerationStream:
    """Queue a request. `rename` turns the engine's name of a field into the client's."""
    try:
        return engine.generate(prompt_ids, params, request_id=request_id)
    except InvalidRequestError as exc:
        if exc.param is not None:
            exc.param = rename(exc.param)
        raise
