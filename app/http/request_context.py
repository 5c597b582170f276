"""Context of every request, whatever its outcome: a request id, a record for log and metrics, security headers."""

import re
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.domain.bounds import MAX_REQUEST_ID_LENGTH
from app.domain.records import new_id
from app.http.client_presence import has_client_left
from app.logs.request_log import CLIENT_LEFT, CURRENT_REQUEST, RequestRecord, RequestTrace
from app.observability.metrics import Metrics

SECURITY_HEADERS = {
    # Formulas and tables need the style attributes of their elements. Scripts come from files only.
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Keeps messages off the disks of browsers and proxies. The page's files override this.
    "Cache-Control": "no-store",
}

METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT"})

LogsBody = Callable[[str, str], bool]
BeginTrace = Callable[[Scope, RequestRecord], RequestTrace | None]

_REQUEST_ID = re.compile(r"[\w.:-]+", re.ASCII)


class RequestContext:
    """Middleware that names, counts and logs each request, and adds the security headers.

    A client's X-Request-Id is used as the request id if it is valid. X-Ebb-Ignored names the unknown fields that a
    compatible route ignored.
    """

    def __init__(
        self, app: ASGIApp, metrics: Metrics, *, logs_body: LogsBody, begin_trace: BeginTrace | None = None
    ) -> None:
        """Wrap `app`.

        logs_body: returns whether the body of a request with this method and path is logged.
        begin_trace: begins a request's trace; None without tracing.
        """
        self._app = app
        self._metrics = metrics
        self._logs_body = logs_body
        self._begin_trace = begin_trace

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application in the request's context (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Metric labels must not take arbitrary values from clients.
        method = scope["method"] if scope["method"] in METHODS else "other"
        logs_body = self._logs_body(method, scope["path"])
        record = RequestRecord(request_id=_request_id(scope), method=method, body=bytearray() if logs_body else None)
        if self._begin_trace is not None:
            record.trace = self._begin_trace(scope, record)
        scope.setdefault("state", {})["request_id"] = record.request_id

        async def receive_kept() -> Message:
            message = await receive()
            record.keep_body(message.get("body", b""))
            return message

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start" and not has_client_left(scope):
                record.status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = record.request_id
                if ignored := scope["state"].get("ignored_fields"):
                    headers["X-Ebb-Ignored"] = str(ignored)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
                self._metrics.http_responses.labels(method, record.status).inc()
            await send(message)

        token = CURRENT_REQUEST.set(record)
        try:
            await self._app(scope, receive_kept if logs_body else receive, send_named)
        finally:
            record.route = getattr(scope.get("route"), "path", "-")
            if record.status == CLIENT_LEFT:
                self._metrics.http_responses.labels(method, CLIENT_LEFT).inc()
            self._metrics.http_seconds.labels(record.route).observe(record.seconds)
            record.end()
            CURRENT_REQUEST.reset(token)


def _request_id(scope: Scope) -> str:
    given = Headers(scope=scope).get("x-request-id", "")
    sane = len(given) <= MAX_REQUEST_ID_LENGTH and _REQUEST_ID.fullmatch(given)
    return given if sane else new_id("req")
