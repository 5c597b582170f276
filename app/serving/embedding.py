"""One request of any API that embeds texts, from the texts to their vectors."""

import asyncio
import math
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starlette.requests import Request

from app.domain.failures import failure_of
from app.host.backend import Backend, GenerationStream
from app.http.client_presence import while_present
from app.logs.request_log import log_embedded
from app.prompts.tokenization import LONG_TEXT, apart_if
from app.serving.prompts import text_ids
from app.tenants.gate import Queue, gate_of
from engine.api.errors import EngineError, InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency

AT_ONCE: Final = 32
"""Texts of one request that the engine has at once: enough to fill its steps, and the others keep their turn."""

FEW_TEXTS: Final = 8
"""Texts whose vectors are scaled and written on the event loop. More of them would block it."""

PARAMS: Final = SamplingParams(temperature=0.0, pooling="auto")


@dataclass(frozen=True, slots=True)
class Text:
    """A text, or its token ids, and the path of the client's field that has it."""

    given: str | list[int]
    path: str


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of length 1, one per text, and the number of tokens of all texts."""

    vectors: list["array[float]"]
    num_tokens: int

    @property
    def size(self) -> int:
        """Number of values of a vector; 0 without a text."""
        return len(self.vectors[0]) if self.vectors else 0


NOTHING: Final = Embedded([], 0)


async def embed(
    request: Request,
    engine: Backend,
    texts: Sequence[Text],
    urgency: Urgency,
    *,
    cuts: bool = False,
    adapter: str = "",
) -> Embedded:
    """Embed `texts` under the tenant's limits. All are aborted if one fails, or if the client leaves.

    cuts: a text that is longer than the window is cut at its end. Otherwise such a text is refused.
    adapter: as in `GenerateRequest`.

    Raise the refusal of the engine or of the tenant's limits, with the path of the text, or the error of `failure_of`.
    """
    gate = gate_of(request)
    gate.check(engine)
    num_characters = sum(len(text.given) for text in texts)
    prompts = [await _ids(request, engine, text, num_characters) for text in texts]
    if cuts:
        prompts = [_cut(engine, ids) for ids in prompts]
    num_tokens = sum(map(len, prompts))
    async with gate.embedding(engine, num_tokens) as queue:
        call = _Call(engine, queue, urgency, request.state.request_id, adapter)
        paths = [text.path for text in texts]
        outputs = await while_present(request, call.outputs(list(zip(prompts, paths, strict=True))))
    log_embedded(request.state.request_id, outputs)
    vectors = await apart_if(len(outputs) > FEW_TEXTS, lambda: list(map(unit_vector, outputs)))
    return Embedded(vectors, num_tokens)


def _cut(engine: Backend, ids: list[int]) -> list[int]:
    """Cut a text to the window. A control token at its end stays there: models are trained to put the meaning in it."""
    if len(ids) <= engine.max_model_len:
        return ids
    end = [] if engine.tokenizer.token_bytes(ids[-1]) else ids[-1:]
    return [*ids[: engine.max_model_len - len(end)], *end]


async def _ids(request: Request, engine: Backend, text: Text, num_characters: int) -> list[int]:
    """Return the token ids of one text. num_characters: the length of all texts together."""
    given = text.given
    if not isinstance(given, str):
        return given
    size = max(len(given), min(num_characters, LONG_TEXT))
    encode = partial(engine.tokenizer.encode_prompt, given)
    return await text_ids(request, engine, encode, size, param=text.path)


@dataclass(frozen=True, slots=True)
class _Call:
    """The engine requests of one client request."""

    engine: Backend
    queue: Queue
    urgency: Urgency
    request_id: str
    adapter: str

    async def outputs(self, prompts: Sequence[tuple[list[int], str]]) -> list[RequestOutput]:
        """Embed all prompts, each given with its path. The first failure, or a cancellation, aborts the others."""
        places = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.create_task(self._output(ids, path, places)) for ids, path in prompts]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _output(self, ids: list[int], path: str, places: asyncio.Semaphore) -> RequestOutput:
        async with places:
            stream = await self._queued(ids, path)
            try:
                last = [output async for output in stream][-1]
            finally:
                # Without effect on a request that has ended.
                self.engine.abort(stream.request_id)
        if (failure := failure_of(last)) is not None:
            raise failure
        return last

    async def _queued(self, ids: list[int], path: str) -> GenerationStream:
        asked = GenerateRequest(
            prompt_token_ids=ids,
            params=PARAMS,
            request_id=self.request_id,
            adapter=self.adapter,
            urgency=self.urgency,
            keep_kv=False,
        )
        try:
            return await self.queue(asked)
        except InvalidRequestError as error:
            if error.param == "prompt":
                error.param = path
            raise


def unit_vector(output: RequestOutput) -> "array[float]":
    """Return the embedding of `output` with length 1, as float32. A vector of zeros stays as it is.

    Raise EngineError if the engine returned none, or one with values that are not finite.
    """
    values = array("f")
    values.frombytes(output.embedding or b"")
    if sys.byteorder == "big":
        values.byteswap()
    length = math.hypot(*values)
    if not values or not math.isfinite(length):
        raise EngineError("The model computed no finite embedding of a text")
    return array("f", [value / length for value in values]) if length else values
