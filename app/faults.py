"""What no route expected becomes an answer: no exception, and no traceback, reaches a client."""

import logging

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.error_responses import error_response, unexpected_error_response
from app.http_protocol import REFUSAL

logger = logging.getLogger(__name__)


class Faults:
    """Answers in place of what failed: the application below it, or the reading of the request.

    Starlette's own handler for unexpected errors stands outside of all other middleware, where an answer gets neither a
    name nor safe headers. This one is inside.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
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
            # It left before its body was whole: there is nobody to answer.
            return
        except Exception:
            logger.exception("an unexpected error")
            # An answer that has begun is not ended, so that the server closes the connection: the client can tell.
            if not begun:
                await unexpected_error_response(scope["state"]["request_id"])(scope, receive, send)
