"""Responses to unexpected exceptions, so that neither an exception nor a traceback reaches a client."""

import logging

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.error_responses import error_response, unexpected_error_response
from app.transport.refusals import REFUSAL

logger = logging.getLogger(__name__)


class Faults:
    """Middleware that responds when the application, or the reading of the request, has failed.

    Starlette's own handler for unexpected errors is outside all other middleware, so its responses have neither a
    request id nor the security headers. This middleware is inside.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, and respond to its unexpected exceptions (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if (refusal := scope["state"].get(REFUSAL)) is not None:
            await error_response(refusal)(scope, receive, send)
            return
        begun = False

        async def send_noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except ClientDisconnect:
            # The client left before its body was complete, so there is no one to respond to.
            return
        except Exception:
            logger.exception("an unexpected error")
            # A response that has begun is left unfinished. The server then closes the connection, and the client
            # notices.
            if not begun:
                await unexpected_error_response(scope["state"]["request_id"])(scope, receive, send)
