"""POST /tokenize, POST /detokenize and GET /tokenizer_info, compatible with vLLM."""

import asyncio
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.openai.chat_schema import to_messages
from app.apis.openai.tokens_schema import DetokenizeRequest, TokenizeRequest
from app.http.operation import Operation
from app.schemas.response_bodies.tokens import TokenCount
from app.services import services_of
from app.serving.prompts import text_ids, whole_prompt
from app.tenants.gate import gate_of


async def tokenize(request: Request, fields: TokenizeRequest) -> Response:
    """Return the token ids that a prompt or messages would have in a generation request."""
    services = services_of(request)
    engine = services.model.host.require(fields.model)
    fields.check()
    gate_of(request).check(engine)
    if (messages := fields.messages) is not None:
        prompt = await whole_prompt(
            request, engine, services.model.prompts, lambda: [*fields.offer.messages, *to_messages(messages)]
        )
        ids = prompt.ids
    else:
        text, tokenizer = fields.prompt or "", engine.tokenizer
        with_special = fields.add_special_tokens is not False
        encode = tokenizer.encode_prompt if with_special else partial(tokenizer.encode, special=True)
        ids = await text_ids(request, engine, partial(encode, text), len(text), param="prompt")
    return JSONResponse(TokenCount(count=len(ids), max_model_len=engine.max_model_len, tokens=ids, token_strs=None))


async def detokenize(request: Request, fields: DetokenizeRequest) -> Response:
    """Return the text of token ids. Control tokens appear by name."""
    services = services_of(request)
    engine = services.model.host.require(fields.model)
    fields.check(vocab_size=engine.tokenizer.vocab_size, max_tokens=engine.max_model_len)
    return JSONResponse({"prompt": await asyncio.to_thread(engine.tokenizer.describe, fields.tokens)})


async def tokenizer_info(request: Request) -> Response:
    """Describe the tokenizer: its class, its special tokens and the chat template."""
    engine = services_of(request).model.host.require()
    return JSONResponse(dict(engine.chat_format.tokenizer_info))


operations = [
    Operation("POST", "/tokenize", tokenize, needs_model=True, answer=TokenCount),
    Operation("POST", "/detokenize", detokenize, needs_model=True),
    Operation("GET", "/tokenizer_info", tokenizer_info),
]
