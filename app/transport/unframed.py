"""Responses to HTTP/1.0 clients, which do not know the chunked coding: the end of the connection ends the body."""

from app.transport.uvicorn_parts import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGISendCallable,
    ASGISendEvent,
    RequestResponseCycle,
    Scope,
)


def unframed(app: ASGI3Application, cycle: RequestResponseCycle) -> ASGI3Application:
    """Return `app` with responses to `cycle` that have no chunks. The cycle must not keep its connection alive.

    uvicorn chooses the chunked coding for each response without a length, whatever version the client speaks.
    """

    async def unframed_app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        has_length = True

        async def send_unframed(message: ASGISendEvent) -> None:
            nonlocal has_length
            if message["type"] == "http.response.start":
                has_length = any(name.lower() == b"content-length" for name, _ in message.get("headers", ()))
                if not has_length:
                    cycle.chunked_encoding = False
            elif message["type"] == "http.response.body" and not has_length:
                # Only uvicorn receives the length of the piece, and then expects no more.
                cycle.expected_content_length = len(message.get("body", b""))
            await send(message)

        await app(scope, receive, send_unframed)

    return unframed_app
