"""The engine requests of one client request that gives many texts and wants a vector of each."""

import asyncio
import math
import sys
from array import array
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request

from app.domain.failures import failure_of
from app.host.backend import Backend, GenerationStream
from app.http.client_presence import while_present
from app.logs.request_log import log_embedded
from app.tenants.gate import Queue, gate_of
from engine.api.errors import EngineError, InvalidRequestError
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.api.urgency import Urgency

AT_ONCE: Final = 32
"""Texts of one request that the engine has at once: enough to fill its steps, and the others keep their turn."""

_PREFIX: Final = SamplingParams(temperature=0.0, max_tokens=0)


@dataclass(frozen=True, slots=True)
class Text:
    """A text, or its token ids, and the path of the client's field that has it."""

    given: str | list[int]
    path: str


@dataclass(frozen=True, slots=True)
class _TextsCall:
    """The engine requests of one client request.

    params: of each text's request, whose last output has a vector.
    """

    engine: Backend
    queue: Queue
    urgency: Urgency
    request_id: str
    adapter: str
    params: SamplingParams

    async def outputs(
        self, prompts: Sequence[tuple[list[int], str]], prefixes: Sequence[list[int]] = ()
    ) -> list[RequestOutput]:
        """Compute all prompts, each given with its path. The first failure, or a cancellation, aborts the others.

        prefixes: beginnings that several prompts share, whose KV is computed and kept before.
        """
        places = asyncio.Semaphore(AT_ONCE)
        await _all(self._output(self._request(ids, _PREFIX, keeps=True), prompts[0][1], places) for ids in prefixes)
        return await _all(self._output(self._request(ids, self.params), path, places) for ids, path in prompts)

    def _request(self, ids: list[int], params: SamplingParams, *, keeps: bool = False) -> GenerateRequest:
        return GenerateRequest(
            prompt_token_ids=ids,
            params=params,
            request_id=self.request_id,
            adapter=self.adapter,
            urgency=self.urgency,
            keep_kv=keeps,
            is_stored=False,
        )

    async def _output(self, asked: GenerateRequest, path: str, places: asyncio.Semaphore) -> RequestOutput:
        async with places:
            stream = await self._queued(asked, path)
            try:
                last = [output async for output in stream][-1]
            finally:
                # Without effect on a request that has ended.
                self.engine.abort(stream.request_id)
        if (failure := failure_of(last)) is not None:
            raise failure
        return last

    async def _queued(self, asked: GenerateRequest, path: str) -> GenerationStream:
        try:
            return await self.queue(asked)
        except InvalidRequestError as error:
            if error.param == "prompt":
                error.param = path
            raise


async def computed(
    request: Request,
    engine: Backend,
    prompts: Sequence[tuple[list[int], str]],
    params: SamplingParams,
    urgency: Urgency,
    *,
    adapter: str = "",
    prefixes: Sequence[list[int]] = (),
) -> list[RequestOutput]:
    """Compute the prompts of a client request under the tenant's limits, as `_TextsCall.outputs` does, and log them.

    All are aborted if the client leaves. Raise the refusal of the engine or of the tenant's limits, with the path of
    the text, or the error of `failure_of`.
    """
    async with gate_of(request).embedding(engine, sum(len(ids) for ids, _ in prompts)) as queue:
        call = _TextsCall(engine, queue, urgency, request.state.request_id, adapter, params)
        outputs = await while_present(request, call.outputs(prompts, prefixes))
    log_embedded(request.state.request_id, outputs)
    return outputs


async def _all(work: Iterable[Coroutine[Any, Any, RequestOutput]]) -> list[RequestOutput]:
    """Run all of `work`, and cancel the rest if one fails."""
    tasks = [asyncio.create_task(each) for each in work]
    if not tasks:
        return []
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def vector_of(output: RequestOutput) -> "array[float]":
    """Return the pooled hidden states of `output`, as float32.

    Raise EngineError if the engine returned none, or one with values that are not finite.
    """
    values = array("f")
    values.frombytes(output.embedding or b"")
    if sys.byteorder == "big":
        values.byteswap()
    if not values or not math.isfinite(math.hypot(*values)):
        raise EngineError("The model computed no finite embedding of a text")
    return values
