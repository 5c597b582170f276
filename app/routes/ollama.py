"""Ollama's API, whose paths are below /api like those of Ebb's page."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.ollama.chat_schema import OllamaChatRequest
from app.apis.ollama.generate_schema import OllamaGenerateRequest
from app.apis.ollama.model_card import NEVER, CardFacts, ModelCard
from app.apis.ollama.model_name import adapter_of_tagged, tagged_model
from app.apis.ollama.request import OllamaRequest
from app.apis.ollama.serializer import OllamaChatShape, OllamaTextShape, OllamaToolShape
from app.apis.ollama.show_schema import OllamaShowRequest
from app.apis.ollama.timestamps import timestamp
from app.apis.openai.logprobs import ChatLogprobs, TokenNames
from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.served_model import ServedModel
from app.http.media_types import JSON, LINES
from app.http.operation import Operation
from app.http.request_body import apart_if_long
from app.prompts.stateless import Remember
from app.prompts.volatile_lines import UNTREATED, TreatedLines
from app.routes.kept_models import keep_alive, without_prompt
from app.routes.model_status import model_status
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
    host = services.model.host
    engine = tagged_model(host, fields.model)
    adapter = adapter_of_tagged(host, fields.model)
    if not fields.messages:
        return await without_prompt(host, fields, OllamaChatShape(fields.model))
    thinking, tools = fields.thinking_mode(engine), engine.chat_format.tools
    offer = await apart_if_long(request, lambda: fields.offer)
    shape_of: Callable[..., OllamaChatShape] = OllamaChatShape
    if offer.is_made:
        shape_of = partial(OllamaToolShape, tools.parser(tools=offer.known_functions, only_complete=True))
    shape_of = partial(shape_of, fields.model, shows_thoughts=fields.shows_thoughts, logprobs=_logprobs(engine, fields))
    gate_of(request).check(engine)
    prompt = await whole_prompt(
        request, engine, services.model.prompts, fields.turns, thinking=thinking, opening=fields.opening
    )
    shape = shape_of(lines=prompt.lines)
    remember = partial(services.model.prompts.remember, engine, prompt)
    if offer.is_made:
        remember = partial(remember, as_message=partial(offer.as_message, tools, only_complete=True))
    sampling = fields.sampling_params(engine.sampling_defaults)
    params = await apart_if_long(request, lambda: offer.applied(sampling, tools))
    response = await answer(
        request, engine, fields, shape, prompt=prompt.ids, params=params, remember=remember, adapter=adapter
    )
    keep_alive(host, fields.model, fields.keep_alive)
    return response


async def generate(request: Request, fields: OllamaGenerateRequest) -> Response:
    """Answer one prompt, streamed by default."""
    host = services_of(request).model.host
    engine = tagged_model(host, fields.model)
    adapter = adapter_of_tagged(host, fields.model)
    fields.check_raw()
    if not fields.prompt:
        return await without_prompt(host, fields, OllamaTextShape(fields.model))
    thinking = fields.thinking_mode(engine)
    shape_of = partial(
        OllamaTextShape, fields.model, shows_thoughts=fields.shows_thoughts, logprobs=_logprobs(engine, fields)
    )
    ids, lines, remember = await _prompt(request, engine, fields, thinking)
    shape = shape_of(lines=lines)
    params = fields.sampling_params(engine.sampling_defaults)
    response = await answer(
        request, engine, fields, shape, prompt=ids, params=params, remember=remember, adapter=adapter
    )
    keep_alive(host, fields.model, fields.keep_alive)
    return response


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
    prompt = await whole_prompt(request, engine, prompts, fields.turns, param="prompt", thinking=thinking)
    return prompt.ids, prompt.lines, partial(prompts.remember, engine, prompt)


def _logprobs(engine: Backend, fields: OllamaRequest) -> ChatLogprobs | None:
    return ChatLogprobs(TokenNames(engine.tokenizer)) if fields.logprobs else None


async def tags(request: Request) -> Response:
    """List the models with their states, whether they are in memory or not."""
    host = server_services(request).model.host
    cards = await _cards(request)
    return JSONResponse({"models": [{**card.on_disk, "status": model_status(host.find(card.name))} for card in cards]})


async def ps(request: Request) -> Response:
    """List the models in memory."""
    host = server_services(request).model.host
    return JSONResponse({"models": [card.in_memory for card in await _cards(request, _in_memory(host))]})


async def show(request: Request, fields: OllamaShowRequest) -> Response:
    """Describe a model by its name."""
    engine = tagged_model(server_services(request).model.host, fields.wanted)
    [card] = await _cards(request, [engine.model_name])
    return JSONResponse(card.in_full)


def _in_memory(host: EngineHost) -> list[str]:
    if host.models is None:
        return [host.require().model_name]
    return [each.name for each in host.models if each.engine is not None]


async def _cards(request: Request, names: Sequence[str] | None = None) -> list[ModelCard]:
    """Return the cards of these models; None for all."""
    host = server_services(request).model.host
    engine = host.require()
    if host.models is None:
        return [await asyncio.to_thread(ModelCard, CardFacts.of(engine), host.ready_at)]
    return [await _card(each, host.ready_at) for each in host.models if names is None or each.name in names]


async def _card(model: ServedModel, ready_at: int) -> ModelCard:
    known = CardFacts.of(model.backend) if model.facts is not None else None
    expires_at = NEVER if model.expires_in == inf else timestamp(time.time() + model.expires_in)

    def card() -> ModelCard:
        facts = known or CardFacts.of_unloaded(model.name, model.describe())
        return ModelCard(facts, ready_at, expires_at)

    return await asyncio.to_thread(card)


async def version(_request: Request) -> Response:
    """Return the version of Ollama whose API this is."""
    return JSONResponse({"version": API_VERSION})


async def refuse_change(request: Request) -> Response:
    """Refuse to add, change or remove a model."""
    path = request.url.path
    raise InvalidRequestError(
        f"{path} is not supported: the models are those of the settings (--model, --models)", code="unsupported"
    )


operations = [
    Operation("POST", "/api/chat", chat, needs_model=True, media=(JSON, LINES)),
    Operation("POST", "/api/generate", generate, needs_model=True, media=(JSON, LINES)),
    Operation("GET", "/api/tags", tags),
    Operation("GET", "/api/ps", ps),
    Operation("POST", "/api/show", show, needs_model=True, loads_model=False),
    Operation("GET", "/api/version", version),
    Operation("POST", "/api/pull", refuse_change),
    Operation("POST", "/api/push", refuse_change),
    Operation("POST", "/api/create", refuse_change),
    Operation("POST", "/api/copy", refuse_change),
    Operation("DELETE", "/api/delete", refuse_change),
    Operation("POST", "/api/blobs/{digest}", refuse_change),
]
