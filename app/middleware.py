"""Who may ask: pages of other sites are kept away, unless a setting lets their origin in."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.error_responses import ForbiddenError, error_response

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

CORS_METHODS = ("GET", "POST", "PATCH", "DELETE")
CORS_REQUEST_HEADERS = ("Authorization", "Content-Type", "Last-Event-ID", "X-Api-Key", "X-Request-Id")
CORS_ANSWER_HEADERS = ("X-Request-Id", "X-Run-Id", "Retry-After")


def cors(origins: Collection[str]) -> list[Middleware]:
    """Lets pages of these origins read answers; nothing without any. Cookies never travel: a key does, in a header."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=tuple(origins),
            allow_methods=CORS_METHODS,
            allow_headers=CORS_REQUEST_HEADERS,
            expose_headers=CORS_ANSWER_HEADERS,
        )
    ]


class OriginGuard:
    """Keeps pages of other sites away, also from a server that demands no keys.

    A server on loopback answers to loopback's names only: a foreign name that resolves to 127.0.0.1 (DNS rebinding)
    would make another site's page same-origin. And what changes or computes something must not come from another
    origin: a browser sends such a request without asking, though it hides the answer.
    """

    def __init__(self, app: ASGIApp, bound_host: str, allowed_origins: Collection[str]) -> None:
        self._app = app
        self._names = LOOPBACK_NAMES | {bound_host} if is_loopback(bound_host) else None
        self._allowed = frozenset(allowed_origins)

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
        origin = headers.get("origin")
        if scope["method"] in SAFE_METHODS or origin in self._allowed:
            return None
        if is_same_origin(headers):
            return None
        return "Pages of other origins may not use this server (--cors-origins lets one in)"


def is_same_origin(headers: Headers) -> bool:
    """Whether no page sent the request, or one that this server sent."""
    # A browser vouches for Sec-Fetch-Site; where it sends none (plain HTTP over a network) there is Origin.
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or _is_at(origin, headers.get("host", ""))


def is_loopback(host: str) -> bool:
    """Whether a socket bound to `host` is reached from this machine only."""
    return host in LOOPBACK_NAMES or host.startswith("127.")


def _is_at(origin: str, host: str) -> bool:
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _host_name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
