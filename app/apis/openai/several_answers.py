"""Several answers to one request. Each is a separate engine request, and all are aborted if the client leaves."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.openai.serializer import OpenAIShape
from app.domain.failures import failure_of
from app.host.backend import Backend, GenerationStream
from app.http.request_body import ignored_of
from app.logs.request_log import log_finished
from app.prompts.stateless import Remember
from app.prompts.thinking import note_vain_budget
from app.prompts.tokenization import LONG_TEXT, apart_if, generate
from app.schemas.sampling import GenerationRequest
from app.serving.request import SpokenParts, abort_all, collect_outputs, ending_in_words, outputs_of
from app.tenants.gate import gate_of
from app.transport.event_stream import EventStream
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams

logger = logging.getLogger(__name__)

Outputs = AsyncGenerator[RequestOutput, None]


async def answer_several(
    request: Request,
    engine: Backend,
    fields: GenerationRequest,
    shapes: Sequence[OpenAIShape],
    *,
    prompts: Sequence[Sequence[int]],
    params: SamplingParams,
    num_drawn: int = 1,
    remember: Remember | None = None,
    adapter: str = "",
) -> Response:
    """Queue `num_drawn` answers to each prompt and respond with one stream or one body.

    shapes: a serializer for each answer to show, with those of one prompt adjacent. If there are fewer shapes than
        answers, the likeliest answers to each prompt are shown; such requests are not streamed.
    remember: as in `app.serving.request.answer`, called for each answer.
    adapter: as in `GenerateRequest`.

    Raise the engine's or the tenant's refusal of one of the requests, or the error of `failure_of` for one of the
    answers. In that case the others are aborted.
    """
    request_id: str = request.state.request_id
    gate = gate_of(request)
    note_vain_budget(engine, params, ignored_of(request).add, fields.client_field)
    streams: list[GenerationStream] = []
    try:
        # Queued one after another, so that the requests before a refused one are known.
        for prompt in prompts:
            streams += await generate(
                gate,
                engine,
                GenerateRequest(
                    prompt_token_ids=prompt,
                    params=params,
                    request_id=request_id,
                    adapter=adapter,
                    urgency=fields.urgency(),
                    num_answers=num_drawn,
                    num_marked=round(fields.marked_share * len(prompt)),
                    promise=gate.promise(fields.wanted_promise, len(prompt)),
                    progress_every=fields.progress_every,
                    is_stored=False,
                ),
                rename=fields.client_field,
            )
    except BaseException:
        abort_all(engine, streams)
        raise
    outputs = [outputs_of(stream, remember, SpokenParts()) for stream in streams]
    if fields.stream:
        return _streamed(engine, streams, outputs, shapes, request_id)
    answers = await collect_outputs(request, engine, streams, outputs, request_id)
    chosen = _best(answers, num_drawn, len(shapes) // len(prompts))
    is_long = sum(len(each.text) for each in chosen) >= LONG_TEXT
    choices = await apart_if(is_long, lambda: [shape.choice(each) for shape, each in zip(shapes, chosen, strict=True)])
    return JSONResponse(shapes[0].body(choices, answers))


def _best(answers: Sequence[RequestOutput], num_drawn: int, num_returned: int) -> list[RequestOutput]:
    """Return `num_returned` answers to each prompt: all in order, or the likeliest first if there are more."""
    if num_returned == num_drawn:
        return list(answers)
    of_prompts = [answers[at : at + num_drawn] for at in range(0, len(answers), num_drawn)]
    return [best for each in of_prompts for best in sorted(each, key=_mean_logprob, reverse=True)[:num_returned]]


def _mean_logprob(answer: RequestOutput) -> float:
    return sum(each.logprob for each in answer.logprobs) / len(answer.logprobs)


def _streamed(
    engine: Backend,
    streams: Sequence[GenerationStream],
    outputs: Sequence[Outputs],
    shapes: Sequence[OpenAIShape],
    request_id: str,
) -> Response:
    """Stream the chunks of all answers as they come. Each chunk has the index of its answer."""

    async def frames() -> AsyncGenerator[bytes, None]:
        opened = [False] * len(streams)
        lasts: dict[int, RequestOutput] = {}
        async with aclosing(_outputs_of_all(outputs)) as merged:
            async for index, output in merged:
                shape = shapes[index]
                frame = b"" if opened[index] else shape.opening()
                opened[index] = True
                frame += shape.step(output)
                if output.finished:
                    log_finished(request_id, output)
                    lasts[index] = output
                    if (failure := failure_of(output)) is not None:
                        yield frame + shape.failure(failure)
                        return
                    frame += shape.reason(output)
                if frame:
                    yield frame
        yield shapes[0].closing([lasts[index] for index in range(len(streams))])

    def on_close() -> None:
        abort_all(engine, streams)

    failure = shapes[0].failure
    return EventStream(lambda _: ending_in_words(frames(), failure), headers={}, refused=failure, on_close=on_close)


async def _outputs_of_all(outputs: Sequence[Outputs]) -> AsyncGenerator[tuple[int, RequestOutput], None]:
    """Yield the outputs of all answers as they come, with the answer's index. A slow reader gets merged outputs."""
    ready: asyncio.Queue[tuple[int, RequestOutput]] = asyncio.Queue(maxsize=1)

    async def forward(index: int, answer: Outputs) -> None:
        async with aclosing(answer):
            async for output in answer:
                await ready.put((index, output))

    async with asyncio.TaskGroup() as tasks:
        forwarding = [tasks.create_task(forward(index, answer)) for index, answer in enumerate(outputs)]
        try:
            unfinished = len(outputs)
            while unfinished:
                index, output = await ready.get()
                unfinished -= output.finished
                yield index, output
        finally:
            for task in forwarding:
                task.cancel()
