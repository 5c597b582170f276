"""What every request gets, whatever becomes of it: a name, a record for the log and the counts, safe headers."""

import re
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.ids import new_id
from app.limits import MAX_REQUEST_ID_LENGTH
from app.metrics import Metrics
from app.request_log import CURRENT_REQUEST, RequestRecord, RequestTrace

SECURITY_HEADERS = {
    # Styles in the page's own attributes are what renders formulas and tables; scripts come from files only.
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # What people write stays out of the disks of browsers and proxies; files of the page say otherwise themselves.
    "Cache-Control": "no-store",
}

METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"})

HOLD_KEYS = frozenset({"/api/login"})
"""Paths whose bodies are in no log, whatever a setting says."""
BeginTrace = Callable[[Scope, RequestRecord], RequestTrace | None]

_REQUEST_ID = re.compile(r"[\w.:-]+", re.ASCII)


class RequestContext:
    """Names each request (the client's X-Request-Id if it is sane), counts and logs its end, adds the safe headers."""

    def __init__(
        self, app: ASGIApp, metrics: Metrics, *, log_messages: bool, begin_trace: BeginTrace | None = None
    ) -> None:
        """log_messages: the line of a request also has its body. begin_trace: None without tracing."""
        self._app = app
        self._metrics = metrics
        self._log_messages = log_messages
        self._begin_trace = begin_trace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A label must not take any value that a client sends.
        method = scope["method"] if scope["method"] in METHODS else "other"
        logs_body = self._log_messages and scope["path"] not in HOLD_KEYS
        record = RequestRecord(_request_id(scope), method, body=bytearray() if logs_body else None)
        if self._begin_trace is not None:
            record.trace = self._begin_trace(scope, record)
        scope.setdefault("state", {})["request_id"] = record.request_id

        async def receive_kept() -> Message:
            message = await receive()
            record.keep_body(message.get("body", b""))
            return message

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                record.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = record.request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                self._metrics.http_responses.labels(method, record.status).inc()
            await send(message)

        token = CURRENT_REQUEST.set(record)
        try:
            await self._app(scope, receive_kept if logs_body else receive, send_named)
        finally:
            record.route = getattr(scope.get("route"), "path", "-")
            self._metrics.http_seconds.labels(record.route).observe(record.seconds)
            record.end()
            CURRENT_REQUEST.reset(token)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    sane = len(given) <= MAX_REQUEST_ID_LENGTH and _REQUEST_ID.fullmatch(given)
    return given if sane else new_id("req")
