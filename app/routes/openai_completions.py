"""POST /v1/completions."""

from collections.abc import Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from app.apis.openai.completions_schema import CompletionRequest
from app.apis.openai.logprobs import TextLogprobs, TokenNames
from app.apis.openai.scored_prompt import PromptShape
from app.apis.openai.serializer import ChunkFields, Echo, TextShape, TokenDetails
from app.apis.openai.several_answers import answer_several
from app.host.backend import Backend
from app.http.media_types import EVENTS, JSON
from app.http.operation import Operation
from app.prompts.tokenization import LONG_TEXT
from app.services import services_of
from app.serving.prompts import text_ids
from app.serving.request import answer
from app.tenants.gate import gate_of


async def completions(request: Request, fields: CompletionRequest) -> Response:
    """Continue texts or lists of token ids. In a text, the name of a control token stands for that token."""
    host = services_of(request).model.host
    engine = host.require(fields.model)
    adapter = host.adapter_of(fields.model)
    params = fields.sampling_params(engine.sampling_defaults)
    num_answers = fields.num_answers(engine.config.scheduler.max_answers)
    num_drawn = fields.num_drawn(engine.config.scheduler.max_answers)
    head = ChunkFields.new(
        "cmpl",
        model=adapter or engine.model_name,
        fingerprint=host.fingerprint_of(engine),
        include_usage=fields.include_usage,
        num_drawn=num_drawn,
    )
    names = TokenNames(engine.tokenizer)
    given = fields.prompts()
    gate_of(request).check(engine)
    num_characters = sum(map(len, given))
    window = engine.max_model_len
    prompts = list[tuple[str | Sequence[int], Sequence[int]]]()
    for each in given:
        ids = await _ids(request, engine, each, num_characters)
        kept = fields.kept(ids, window)
        # If a prompt is cut, its text is that of the tokens that are kept.
        prompts.append((each if len(kept) == len(ids) else kept, kept))
    shape_of = PromptShape if fields.is_prompt_alone else TextShape
    shapes = [
        shape_of(
            head,
            TextLogprobs(names) if fields.logprobs is not None else None,
            index=number * num_answers + choice,
            echo=_echo(names, prompt, ids) if fields.echo and ids else None,
            ends_with_stop_token=params.include_stop_str_in_output,
            details=TokenDetails.of(fields, ids),
        )
        for number, (prompt, ids) in enumerate(prompts)
        for choice in range(num_answers)
    ]
    if len(prompts) * num_drawn == 1:
        return await answer(request, engine, fields, shapes[0], prompt=prompts[0][1], params=params, adapter=adapter)
    return await answer_several(
        request,
        engine,
        fields,
        shapes,
        prompts=[ids for _, ids in prompts],
        params=params,
        num_drawn=num_drawn,
        adapter=adapter,
    )


async def _ids(request: Request, engine: Backend, prompt: str | list[int], num_characters: int) -> list[int]:
    """Return the token ids of one prompt. num_characters: the length of all the request's prompts together."""
    if not isinstance(prompt, str):
        return prompt
    encode = partial(engine.tokenizer.encode_prompt, prompt)
    size = max(len(prompt), min(num_characters, LONG_TEXT))
    return await text_ids(request, engine, encode, size, param="prompt")


def _echo(names: TokenNames, prompt: str | Sequence[int], ids: Sequence[int]) -> Echo:
    """Describe the prompt for `echo`. A start token that tokenization added before a text is not shown."""
    if isinstance(prompt, str):
        return Echo(prompt, ids[0], first_is_shown=prompt.encode().startswith(names.bytes_of(ids[0])))
    text = b"".join(map(names.bytes_of, ids)).decode(errors="replace")
    return Echo(text, ids[0], first_is_shown=True)


operations = [
    Operation("POST", "/v1/completions", completions, needs_model=True, media=(JSON, EVENTS)),
]
