"""/v1/responses: OpenAI's Responses API."""

from contextlib import aclosing
from functools import partial
from typing import Annotated, Final, Self

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.apis.responses.events import BEFORE_THE_FIRST, ResponseEvents
from app.apis.responses.include import IncludeQuery
from app.apis.responses.listing import NUMBER, Listing
from app.apis.responses.schema import CompactRequest, InputTokensRequest, ResponseRequest
from app.apis.responses.serializer import items_json, response_json
from app.apis.responses.serving import collect_response, event_stream, streamed
from app.http.client_presence import stop_of
from app.http.media_types import EVENTS, JSON
from app.http.operation import Operation
from app.http.query_params import AnyText
from app.http.request_body import ignored_of
from app.prompts.tokenization import generate
from app.services import services_of
from app.serving.request import SpokenParts, collect_outputs, outputs_of
from app.tenants.gate import gate_of
from engine.api.generate_request import GenerateRequest

LAST_EVENT_ID: Final = "Last-Event-ID"


class Retrieval(IncludeQuery):
    """A response as it is now or, with `stream=true`, as a stream of its events after a number."""

    stream: AnyText = ""
    starting_after: Annotated[int, NUMBER] | None = None

    @classmethod
    def parse(cls, given: QueryParams) -> Self:
        """Return the parameters. Only a stream begins after a number. Raise InvalidRequestError."""
        if given.get("stream") != "true":
            given = QueryParams([each for each in given.multi_items() if each[0] != "starting_after"])
        return super().parse(given)


async def create_response(request: Request, fields: ResponseRequest) -> Response:
    """Generate a response. A stored response can be retrieved, and continued with `previous_response_id`."""
    services = services_of(request)
    tokenizer = services.model.host.require(fields.model).tokenizer
    record, run = await services.responses.create(fields, stop_of(request), ignored_of(request).add)
    if fields.is_stored:
        rules = services.model.prompts.rules
        services.model.next_prefixes.after(run, fields.instructions, fields.offer.messages, rules)
    if fields.stream:
        shown = fields.shows_progress
        return streamed(services.records.runs, record, run, tokenizer, is_stored=fields.is_stored, shows_progress=shown)
    if fields.background:
        return JSONResponse(response_json(record, run.answer_so_far))
    return await collect_response(request, services.records.runs, record, run, tokenizer, is_stored=fields.is_stored)


async def count_input_tokens(request: Request, fields: InputTokensRequest) -> Response:
    """Count the tokens of the prompt that a response would have."""
    services = services_of(request)
    num_tokens = await services.responses.count(fields, stop_of(request), ignored_of(request).add)
    return JSONResponse({"object": "response.input_tokens", "input_tokens": num_tokens})


async def compact_response(request: Request, fields: CompactRequest) -> Response:
    """Compact a conversation: return the user's messages, and a sealed summary of the rest, as the next input."""
    services = services_of(request)
    engine = services.model.host.require(fields.model)
    compaction = await services.responses.compaction(fields, stop_of(request), ignored_of(request).add)
    request_id: str = request.state.request_id
    asked = GenerateRequest(
        prompt_token_ids=compaction.prompt.ids,
        params=compaction.params(),
        request_id=request_id,
        adapter=compaction.adapter,
        is_stored=False,
    )
    [stream] = await generate(gate_of(request), engine, asked, rename=lambda _: "input")
    [summary] = await collect_outputs(request, engine, [stream], [outputs_of(stream, None, SpokenParts())], request_id)
    services.model.next_prefixes.ahead(engine, partial(compaction.next_prefix, summary.text), gate_of(request).tenant)
    return JSONResponse(compaction.body(summary))


async def get_response(request: Request, asked: Retrieval) -> Response:
    """Return a response as it is now, or stream its events, optionally only those after a number.

    A browser that reconnects to a response whose events it has all seen gets 204, at which it stops.
    """
    services = services_of(request)
    response = await services.responses.get(request.path_params["id"])
    if asked.stream != "true":
        return JSONResponse(response_json(response.record, response.answer))
    after = _cursor(request, asked)
    source = await services.responses.replay(response)
    if (
        source.log.is_closed
        and LAST_EVENT_ID in request.headers
        and not await _has_events(ResponseEvents(response.record, source), after)
    ):
        return Response(status_code=204)
    return event_stream(ResponseEvents(response.record, source), after)


def _cursor(request: Request, asked: Retrieval) -> int:
    """Return the number of the last event that the client has. Raise InvalidRequestError.

    A browser that reconnects repeats the query of its first request, and has seen more events since. The larger number
    therefore counts.
    """
    seen = request.headers.get(LAST_EVENT_ID)
    given = (asked.starting_after, NUMBER.parse(seen, LAST_EVENT_ID) if seen is not None else None)
    return max((each for each in given if each is not None), default=BEFORE_THE_FIRST)


async def _has_events(events: ResponseEvents, after: int) -> bool:
    """Return whether a response that has ended has an event with a number above `after`."""
    async with aclosing(events.frames(after)) as frames:
        return await anext(frames, None) is not None


async def cancel_response(request: Request) -> Response:
    """Cancel a background response and keep its text so far. An ended response is returned unchanged."""
    response = await services_of(request).responses.cancel(request.path_params["id"])
    return JSONResponse(response_json(response.record, response.answer))


async def delete_response(request: Request) -> Response:
    """Delete a response."""
    response_id = request.path_params["id"]
    await services_of(request).responses.delete(response_id)
    return JSONResponse({"id": response_id, "object": "response", "deleted": True})


async def list_input_items(request: Request, listing: Listing) -> Response:
    """List a page of a response's input items."""
    services = services_of(request)
    response = await services.responses.get(request.path_params["id"])
    messages = await services.store.messages.path_part(
        response.answer.conversation_id,
        response.answer.parent_id,
        since=listing.since,
        newest_first=listing.newest_first,
        most=listing.num_messages,
    )
    return JSONResponse(listing.page([item for message in messages for item in items_json(message)]))


operations = [
    Operation("POST", "/v1/responses", create_response, needs_model=True, media=(JSON, EVENTS)),
    Operation("POST", "/v1/responses/input_tokens", count_input_tokens, needs_model=True),
    Operation("POST", "/v1/responses/compact", compact_response, needs_model=True),
    Operation("GET", "/v1/responses/{id}", get_response, media=(JSON, EVENTS), headers=("Last-Event-ID",)),
    Operation("DELETE", "/v1/responses/{id}", delete_response),
    Operation("POST", "/v1/responses/{id}/cancel", cancel_response),
    Operation("GET", "/v1/responses/{id}/input_items", list_input_items),
]
