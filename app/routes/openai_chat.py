"""POST /v1/chat/completions."""

from collections.abc import Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response

from app.apis.openai.chat_schema import ChatCompletionRequest
from app.apis.openai.logprobs import ChatLogprobs, TokenNames
from app.apis.openai.serializer import ChatShape, ChunkFields, TokenDetails
from app.apis.openai.several_answers import answer_several
from app.apis.openai.tool_calls import ToolCallShape
from app.http.media_types import EVENTS, JSON
from app.http.operation import Operation
from app.http.request_body import apart_if_long
from app.services import services_of
from app.serving.prompts import whole_prompt
from app.serving.request import answer
from app.tenants.gate import gate_of


async def chat_completions(request: Request, fields: ChatCompletionRequest) -> Response:
    """Answer a list of messages."""
    services = services_of(request)
    engine = services.model.host.require(fields.model)
    adapter = services.model.host.adapter_of(fields.model)
    thinking, tools = fields.thinking_mode(engine), engine.chat_format.tools
    offer = await apart_if_long(request, lambda: fields.offer)
    sampling = fields.sampling_params(engine.sampling_defaults)
    params = await apart_if_long(request, lambda: offer.applied(sampling, tools))
    num_answers = fields.num_answers(engine.config.scheduler.max_answers)
    gate_of(request).check(engine)
    prompt = await whole_prompt(
        request, engine, services.model.prompts, fields.turns, thinking=thinking, opening=fields.opening
    )
    ids = fields.kept(prompt.ids, engine.max_model_len)
    remember = partial(services.model.prompts.remember, engine, prompt) if ids is prompt.ids else None
    head = ChunkFields.new(
        "chatcmpl",
        model=adapter or engine.model_name,
        fingerprint=services.model.host.fingerprint_of(engine),
        include_usage=fields.include_usage,
        num_drawn=num_answers,
        lines=prompt.lines,
    )
    logprobs = ChatLogprobs(TokenNames(engine.tokenizer)) if fields.logprobs else None
    shape_of: Callable[..., ChatShape] = partial(
        ChatShape, head, logprobs, ends_with_stop_token=params.include_stop_str_in_output
    )
    if offer.is_made:
        shape_of = partial(ToolCallShape, tools, offer, head, logprobs)
        remember = partial(remember, as_message=partial(offer.as_message, tools)) if remember is not None else None
    shape_of = partial(
        shape_of, details=TokenDetails.of(fields, ids), with_reasoning=fields.include_reasoning is not False
    )
    if num_answers == 1:
        return await answer(
            request, engine, fields, shape_of(), prompt=ids, params=params, remember=remember, adapter=adapter
        )
    return await answer_several(
        request,
        engine,
        fields,
        [shape_of(index=index) for index in range(num_answers)],
        prompts=[ids],
        params=params,
        num_drawn=num_answers,
        remember=remember,
        adapter=adapter,
    )


operations = [
    Operation("POST", "/v1/chat/completions", chat_completions, needs_model=True, media=(JSON, EVENTS)),
]
