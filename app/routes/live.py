"""GET /api/live: live figures of the whole server."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.access.authentication import identify
from app.services import Services, server_services
from app.transport.event_stream import EventStream


async def follow_live(request: Request) -> Response:
    """Stream one sample of the server's figures per second.

    Starts after the client's cursor. Without a cursor, starts with the samples that are kept.
    """
    services = server_services(request)
    return EventStream(lambda _: _frames(request, services), headers={})


async def _frames(request: Request, services: Services) -> AsyncGenerator[bytes, None]:
    """Yield frames as long as the client's key has the scope `admin`: the key may be revoked during the stream."""
    after = services.live.cursor(request.headers.get("last-event-id", ""))
    async with aclosing(services.live.follow(after)) as frames:
        async for frame in frames:
            await services.ring.refresh()
            principal = identify(request.headers, services.ring, request.state.identity)
            if principal is None or principal.scope != "admin":
                return
            yield frame


routes = [Route("/api/live", follow_live)]
