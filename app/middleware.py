"""What every request passes: a name for it, headers that protect the page, and a look at where it comes from."""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.error_responses import ForbiddenError, error_response
from app.ids import new_id
from app.limits import MAX_REQUEST_ID_LENGTH
from app.metrics import Metrics

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

SECURITY_HEADERS = {
    # Styles in the page's own attributes are what renders formulas and tables; scripts come from files only.
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
        "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

_REQUEST_ID = re.compile(r"[\w.:-]+", re.ASCII)


class RequestContext:
    """Names each request (the client's X-Request-Id if it is sane), counts answers, adds the security headers."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        sane = len(given) <= MAX_REQUEST_ID_LENGTH and _REQUEST_ID.fullmatch(given)
        request_id = given if sane else new_id("req")
        scope.setdefault("state", {})["request_id"] = request_id

        async def send_named(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.http_responses.labels(_known_method(scope["method"]), message["status"]).inc()
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_named)


class OriginGuard:
    """Keeps pages of other sites away from a server that has no keys.

    A server on loopback answers to loopback's names only: a foreign name that resolves to 127.0.0.1 (DNS rebinding)
    would make another site's page same-origin. And what changes conversations must not come from another origin.
    """

    def __init__(self, app: ASGIApp, bound_host: str) -> None:
        self._app = app
        self._names = LOOPBACK_NAMES | {bound_host} if is_loopback(bound_host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await error_response(ForbiddenError(refusal))(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._names is not None:
            name = _host_name(host)
            if name not in self._names and not name.endswith(".localhost"):
                return f"This server listens on this machine only and does not answer to the name {name!r}"
        if scope["method"] in SAFE_METHODS or not scope["path"].startswith("/api/"):
            return None
        # A browser vouches for Sec-Fetch-Site; where it sends none (plain HTTP over a network) there is Origin.
        site = headers.get("sec-fetch-site")
        origin = headers.get("origin")
        if site is not None:
            foreign = site not in ("same-origin", "none")
        else:
            foreign = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        return "Conversations cannot be changed by a page of another origin" if foreign else None


def is_loopback(host: str) -> bool:
    """Whether a socket bound to `host` is reached from this machine only."""
    return host in LOOPBACK_NAMES or host.startswith("127.")


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _known_method(method: str) -> str:
    # A label must not take any value that a client sends.
    return method if method in ("GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "PUT") else "other"
