"""/api/runs: follow a generation from any point, cancel it, or explain why part of its prompt was recomputed."""

from functools import partial
from typing import Annotated

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.operation import Operation
from app.http.query_params import Query, whole_numbers
from app.runs.run import ended_run
from app.runs.run_log import MAX_DIGITS, RunLog
from app.schemas.response_bodies.messages import Message, message_body
from app.schemas.response_bodies.reuse_report import ReuseReport
from app.schemas.response_bodies.run_events import RUN_EVENTS
from app.services import services_of
from app.transport.event_stream import EventStream


class After(Query):
    """The last event that a client has."""

    starting_after: Annotated[int, whole_numbers(0, 10**MAX_DIGITS - 1, "the number of an event")] | None = None


async def follow_run(request: Request, asked: After) -> Response:
    """Stream a run's events after the client's cursor. 204 if the run has ended and every event was seen.

    Without a cursor, the stream starts with a snapshot.
    """
    services = services_of(request)
    run_id = request.path_params["id"]
    tenant = services.store.tenant
    run = services.records.runs.get(run_id, tenant)
    if run is None:
        answer = await services.store.messages.of_run(run_id)
        run = await services.records.runs.find(answer, tenant)
        # An answer that was in progress a moment ago may have ended at another server.
        run = run or ended_run(await services.store.messages.of_run(run_id), tenant)
    log = run.log
    after = _cursor(request, asked, log)
    if log.is_closed and after == log.last_event:
        return Response(status_code=204)
    return EventStream(partial(log.follow, after), headers={"X-Run-Id": run_id})


async def cancel_run(request: Request) -> Response:
    """Cancel a run and keep its text so far. The message of an ended run is returned unchanged."""
    message = await services_of(request).turns.cancel(request.path_params["id"])
    return JSONResponse(message_body(message))


async def explain_reuse(request: Request) -> Response:
    """Explain where KV reuse of a run's prompt ended, and why."""
    return JSONResponse(await services_of(request).turns.explain(request.path_params["id"]))


def _cursor(request: Request, asked: After, log: RunLog) -> int | None:
    if asked.starting_after is not None:
        return asked.starting_after
    event_id = request.headers.get("last-event-id")
    return log.cursor(event_id) if event_id else None


operations = [
    Operation("GET", "/api/runs/{id}/events", follow_run, events=RUN_EVENTS, headers=("Last-Event-ID",)),
    Operation("GET", "/api/runs/{id}/kv", explain_reuse, answer=ReuseReport),
    Operation("POST", "/api/runs/{id}/cancel", cancel_run, answer=Message),
]
