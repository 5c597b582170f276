"""POST /v1/messages and /v1/messages/count_tokens: Anthropic's Messages API."""

from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.anthropic.diagnostics import diagnostics_json
from app.apis.anthropic.messages_schema import CountTokensRequest, MessagesRequest
from app.apis.anthropic.search_rounds import Asked, SearchingStream
from app.apis.anthropic.search_shape import SearchShape
from app.apis.anthropic.serializer import MessageHead, MessageShape, ToolUseShape
from app.apis.call_arguments import as_message_with_objects
from app.domain.records import new_id
from app.host.backend import Backend
from app.http.error_formats import ANTHROPIC_ROUTE
from app.http.media_types import EVENTS, JSON
from app.http.operation import Operation
from app.http.request_body import apart_if_long
from app.prompts.stateless import Remember, WholePrompt
from app.services import services_of
from app.serving.prompts import whole_prompt
from app.serving.request import answer
from app.tenants.gate import gate_of


async def messages(request: Request, fields: MessagesRequest) -> Response:
    """Generate the next message of a conversation."""
    services = services_of(request)
    engine = services.model.host.require(fields.model)
    adapter = services.model.host.adapter_of(fields.model)
    offer, tools = await apart_if_long(request, lambda: fields.offer), engine.chat_format.tools
    free = fields.sampling_params(engine.sampling_defaults)
    params = await apart_if_long(request, lambda: offer.applied(free, tools))
    prompt = await _prompt(request, engine, fields)
    head: MessageHead = {
        "id": new_id("msg"),
        "model": adapter or engine.model_name,
        "prompt_tokens": len(prompt.ids),
        "max_tokens": fields.max_tokens,
        "request_id": request.state.request_id,
        "thoughts": fields.thoughts,
        "lines": prompt.lines,
    }
    if fields.diagnostics is not None:
        head["diagnostics"] = await _diagnostics(request, engine, fields, head["id"], prompt, adapter)
    shape, followed = MessageShape(**head), None
    remember: Remember | None = partial(services.model.prompts.remember, engine, prompt)
    if offer.is_made and fields.searches:
        asked = Asked(
            gate=gate_of(request),
            engine=engine,
            prompts=services.model.prompts,
            fields=fields,
            params=free,
            request_id=request.state.request_id,
            adapter=adapter,
        )
        # A later round may call a tool that this answer has yet to find.
        may_call = [*offer.known_functions, *fields.catalog]
        shape = SearchShape(partial(tools.parser, parallel=offer.parallel, tools=may_call), fields.searches, **head)
        remember, followed = None, SearchingStream(asked, offer, shape, prompt).after
    elif offer.is_made:
        shape = ToolUseShape(tools.parser(parallel=offer.parallel, tools=offer.known_functions), **head)
        as_message = partial(as_message_with_objects, offer, tools, is_streamed=bool(fields.stream))
        remember = partial(services.model.prompts.remember, engine, prompt, as_message=as_message)
    response = await answer(
        request,
        engine,
        fields,
        shape,
        prompt=prompt.ids,
        params=params,
        remember=remember,
        adapter=adapter,
        followed=followed,
    )
    return _named(request, response)


async def _diagnostics(
    request: Request,
    engine: Backend,
    fields: MessagesRequest,
    message_id: str,
    prompt: WholePrompt,
    adapter: str,
) -> dict[str, Any] | None:
    """Record the prompt of a message, and return how it diverges from that of the message that `fields` name."""
    diagnostics, tenant = services_of(request).model.diagnostics, gate_of(request).tenant
    thinking = fields.thinking_mode(engine)
    turns = await apart_if_long(request, fields.turns)
    digest = await diagnostics.digest(engine, tenant, fields.offer, turns, prompt.ids, thinking, adapter=adapter)
    diagnostics.keep(engine, tenant, message_id, digest)
    earlier = fields.diagnostics.previous_message_id if fields.diagnostics is not None else None
    return None if earlier is None else diagnostics_json(await diagnostics.compare(engine, tenant, earlier, digest))


async def count_tokens(request: Request, fields: CountTokensRequest) -> Response:
    """Count the tokens of a conversation's prompt."""
    services = services_of(request)
    engine = services.model.host.require(fields.model)
    prompt = await _prompt(request, engine, fields)
    return _named(request, JSONResponse({"input_tokens": len(prompt.ids)}))


async def _prompt(request: Request, engine: Backend, fields: CountTokensRequest) -> WholePrompt:
    thinking, prompts = fields.thinking_mode(engine), services_of(request).model.prompts
    gate_of(request).check(engine)
    return await whole_prompt(request, engine, prompts, fields.turns, thinking=thinking, opening=fields.opening)


def _named(request: Request, response: Response) -> Response:
    """Add the request id under the header that Anthropic's clients read."""
    response.headers["request-id"] = request.state.request_id
    return response


operations = [
    Operation("POST", ANTHROPIC_ROUTE, messages, needs_model=True, media=(JSON, EVENTS)),
    Operation("POST", f"{ANTHROPIC_ROUTE}/count_tokens", count_tokens, needs_model=True),
]
