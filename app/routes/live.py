"""GET /api/live: live figures of the whole server."""

from starlette.requests import Request
from starlette.responses import Response

from app.http.operation import Operation
from app.schemas.response_bodies.live import LiveSample
from app.services import server_services
from app.transport.event_stream import EventStream


async def follow_live(request: Request) -> Response:
    """Stream one sample of the server's figures per second.

    Starts after the client's cursor. Without a cursor, starts with the samples that are kept.
    """
    live = server_services(request).live
    after = live.cursor(request.headers.get("last-event-id", ""))
    return EventStream(lambda _: live.follow(after), headers={})


operations = [
    Operation(
        "GET",
        "/api/live",
        follow_live,
        events={"sample": LiveSample},
        headers=("Last-Event-ID",),
        access="admin",
    ),
]
