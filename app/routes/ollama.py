"""Ollama's API, whose paths are below /api like those of Ebb's page."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.apis.ollama.model_card import ModelCard
from app.apis.ollama.model_name import check_tagged_model
from app.apis.ollama.request import OllamaRequest
from app.apis.ollama.serializer import OllamaChatShape, OllamaTextShape, OllamaToolShape
from app.apis.ollama.show_schema import OllamaShowRequest
from app.apis.openai.logprobs import ChatLogprobs, TokenNames
from app.host.backend import Backend
from app.http.media_types import JSON, LINES
from app.http.operation import Operation
from app.prompts.stateless import Remember
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.services import server_services, services_of
from app.serving.prompts import text_ids, whole_prompt
from app.serving.request import answer
from app.tenants.gate import gate_of
from engine.api.errors import InvalidRequestError
from models.thinking import ThinkingMode

API_VERSION: Final = "0.32.0"
"""Version of Ollama whose API this is. Clients refuse a server with a version that lacks what they need."""


async def chat(request: Request, fields: OllamaChatRequest) -> Response:
    """Generate the next message of a conversation, streamed by default."""
    services = services_of(request)
    engine = services.model.host.require()
    check_tagged_model(services.model.host, fields.model)
    thinking, tools, offer = fields.thinking_mode(engine), engine.chat_format.tools, fields.offer
    shape_of: Callable[..., OllamaChatShape] = OllamaChatShape
    if offer.is_made:
        shape_of = partial(OllamaToolShape, tools.parser(tools=offer.known_functions, only_complete=True))
    shape_of = partial(shape_of, fields.model, shows_thoughts=fields.shows_thoughts, logprobs=_logprobs(engine, fields))
    if not fields.messages:
        return JSONResponse(shape_of().loaded())
    gate_of(request).check(engine)
    prompt = await whole_prompt(
        request, engine, services.model.prompts, fields.turns(), thinking=thinking, opening=fields.opening
    )
    shape = shape_of(lines=prompt.lines)
    remember = partial(services.model.prompts.remember, engine, prompt)
    if offer.is_made:
        remember = partial(remember, as_message=partial(offer.as_message, tools, only_complete=True))
    params = offer.applied(fields.sampling_params(engine.sampling_defaults), tools)
    return await answer(request, engine, fields, shape, prompt=prompt.ids, params=params, remember=remember)


async def generate(request: Request, fields: OllamaGenerateRequest) -> Response:
    """Answer one prompt, streamed by default."""
    host = services_of(request).model.host
    engine = host.require()
    check_tagged_model(host, fields.model)
    fields.check_raw()
    thinking = fields.thinking_mode(engine)
    shape_of = partial(
        OllamaTextShape, fields.model, shows_thoughts=fields.shows_thoughts, logprobs=_logprobs(engine, fields)
    )
    if not fields.prompt:
        return JSONResponse(shape_of().loaded())
    ids, lines, remember = await _prompt(request, engine, fields, thinking)
    shape = shape_of(lines=lines)
    params = fields.sampling_params(engine.sampling_defaults)
    return await answer(request, engine, fields, shape, prompt=ids, params=params, remember=remember)


async def _prompt(
    request: Request, engine: Backend, fields: OllamaGenerateRequest, thinking: ThinkingMode | None
) -> tuple[list[int], TreatedLines, Remember | None]:
    """Return the token ids of the prompt, the lines that were treated, and the function that remembers the answer.

    The function is None for a raw prompt.
    """
    gate_of(request).check(engine)
    if fields.raw:
        text = fields.prompt or ""
        encode = partial(engine.tokenizer.encode_prompt, text)
        return await text_ids(request, engine, encode, len(text), param="prompt"), UNTREATED, None
    prompts = services_of(request).model.prompts
    prompt = await whole_prompt(request, engine, prompts, fields.turns(), param="prompt", thinking=thinking)
    return prompt.ids, prompt.lines, partial(prompts.remember, engine, prompt)


def _logprobs(engine: Backend, fields: OllamaRequest) -> ChatLogprobs | None:
    return ChatLogprobs(TokenNames(engine.tokenizer)) if fields.logprobs else None


async def tags(request: Request) -> Response:
    """List the one model that is served."""
    return JSONResponse({"models": [(await _card(request)).on_disk]})


async def ps(request: Request) -> Response:
    """List the loaded models: the one that is served."""
    return JSONResponse({"models": [(await _card(request)).in_memory]})


async def show(request: Request, fields: OllamaShowRequest) -> Response:
    """Describe a model by its name."""
    host = server_services(request).model.host
    check_tagged_model(host, fields.wanted)
    return JSONResponse((await _card(request)).in_full)


async def _card(request: Request) -> ModelCard:
    host = server_services(request).model.host
    return await asyncio.to_thread(ModelCard, host.require(), host.ready_at)


async def version(_request: Request) -> Response:
    """Return the version of Ollama whose API this is."""
    return JSONResponse({"version": API_VERSION})


async def refuse_change(request: Request) -> Response:
    """Refuse to add, change or remove a model."""
    path = request.url.path
    raise InvalidRequestError(f"{path} is not supported: this server has one model (--model)", code="unsupported")


operations = [
    Operation("POST", "/api/chat", chat, needs_model=True, media=(JSON, LINES)),
    Operation("POST", "/api/generate", generate, needs_model=True, media=(JSON, LINES)),
    Operation("GET", "/api/tags", tags),
    Operation("GET", "/api/ps", ps),
    Operation("POST", "/api/show", show, needs_model=True),
    Operation("GET", "/api/version", version),
    Operation("POST", "/api/pull", refuse_change),
    Operation("POST", "/api/push", refuse_change),
    Operation("POST", "/api/create", refuse_change),
    Operation("POST", "/api/copy", refuse_change),
    Operation("DELETE", "/api/delete", refuse_change),
    Operation("POST", "/api/blobs/{digest}", refuse_change),
]
