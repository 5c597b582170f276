"""POST /tokenize, POST /detokenize and GET /tokenizer_info, compatible with vLLM."""

import asyncio

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.apis.openai.chat_schema import to_messages
from app.apis.openai.tokens_schema import DetokenizeRequest, TokenizeRequest
from app.host.backend import Backend
from app.http.request_body import read_body
from app.prompts.tokenization import to_ids
from app.schemas.response_bodies.tokens import TokenCount
from app.services import services_of
from app.tenants.gate import TenantGate, gate_of


async def tokenize(request: Request) -> Response:
    """Return the token ids that a prompt or messages would have in a generation request."""
    services = services_of(request)
    engine = services.host.require()
    fields = await read_body(request, TokenizeRequest)
    if fields.model is not None:
        services.host.check_model(fields.model)
    fields.check()
    gate = gate_of(request)
    gate.check(engine)
    if fields.messages is not None:
        turns = to_messages(fields.messages)
        ids = (await services.prompts.prompt(gate, engine, turns, param="messages")).ids
    else:
        ids = await _text_ids(gate, engine, fields.prompt or "", with_special=fields.add_special_tokens is not False)
    return JSONResponse(TokenCount(count=len(ids), max_model_len=engine.max_model_len, tokens=ids, token_strs=None))


async def detokenize(request: Request) -> Response:
    """Return the text of token ids. Control tokens appear by name."""
    services = services_of(request)
    engine = services.host.require()
    fields = await read_body(request, DetokenizeRequest)
    if fields.model is not None:
        services.host.check_model(fields.model)
    fields.check(vocab_size=engine.tokenizer.vocab_size, max_tokens=engine.max_model_len)
    return JSONResponse({"prompt": await asyncio.to_thread(engine.tokenizer.describe, fields.tokens)})


async def tokenizer_info(request: Request) -> Response:
    """Describe the tokenizer: its class, its special tokens and the chat template."""
    engine = services_of(request).host.require()
    return JSONResponse(dict(engine.chat_format.tokenizer_info))


async def _text_ids(gate: TenantGate, engine: Backend, text: str, *, with_special: bool) -> list[int]:
    tokenizer = engine.tokenizer

    def encode() -> list[int]:
        return tokenizer.encode_prompt(text) if with_special else tokenizer.encode(text, special=True)

    return await to_ids(gate, engine, encode, len(text), param="prompt")


routes = [
    Route("/tokenize", tokenize, methods=["POST"]),
    Route("/detokenize", detokenize, methods=["POST"]),
    Route("/tokenizer_info", tokenizer_info),
]
