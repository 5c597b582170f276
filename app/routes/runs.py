"""/api/runs: follow a generation from any point, cancel it, or explain why part of its prompt was recomputed."""

from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.runs.run import ended_run
from app.runs.run_log import RunLog, is_number
from app.schemas.response_bodies.messages import message_body
from app.services import services_of
from app.transport.event_stream import EventStream
from engine.api.errors import InvalidRequestError


async def follow_run(request: Request) -> Response:
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
    after = _cursor(request, log)
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


def _cursor(request: Request, log: RunLog) -> int | None:
    given = request.query_params.get("starting_after")
    if given is not None:
        if not is_number(given):
            raise InvalidRequestError("starting_after must be the number of an event", param="starting_after")
        return int(given)
    event_id = request.headers.get("last-event-id")
    return log.cursor(event_id) if event_id else None


routes = [
    Route("/api/runs/{id}/events", follow_run),
    Route("/api/runs/{id}/kv", explain_reuse),
    Route("/api/runs/{id}/cancel", cancel_run, methods=["POST"]),
]
