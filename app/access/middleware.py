"""Protection of the server from pages of other sites, apart from the origins that a setting allows."""

from collections.abc import Collection

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.host_names import HostNames
from app.accounts.login_provider import SAML_PATH
from app.http.error_responses import ForbiddenError, error_response
from app.http.operation_table import OperationTable

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

CORS_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
CORS_ANSWER_HEADERS = ("ETag", "Request-Id", "Retry-After", "X-Ebb-Ignored", "X-Request-Id", "X-Run-Id")


def cors(origins: Collection[str]) -> list[Middleware]:
    """Build the middleware that lets pages of `origins` read answers; an empty list without any origin.

    Cookies are never allowed, only a key in a header. An allowed page may send any header, since the official clients
    send a family of them (x-stainless-*) that grows with each of their releases.
    """
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=tuple(origins),
            allow_methods=CORS_METHODS,
            allow_headers=("*",),
            expose_headers=CORS_ANSWER_HEADERS,
            allow_private_network=True,
        )
    ]


class OriginGuard:
    """Check of the name that a request asks for, and of the page that sent it.

    Requests that change or compute something must not come from another origin: a browser sends them without asking,
    though it hides the answer. Requests that only read must not either, below /api and wherever a key would be
    demanded, since the time and the size of an answer reveal something about it. Links from elsewhere to the page
    itself do no harm.
    """

    def __init__(
        self, app: ASGIApp, operations: OperationTable, names: HostNames, allowed_origins: Collection[str]
    ) -> None:
        self._app = app
        self._operations = operations
        self._names = names
        self._allowed = frozenset(allowed_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or answer 403 (ASGI)."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await error_response(ForbiddenError(refusal))(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        # Only clients of HTTP/1.0 may send no name, such as the health checks of proxies. Browsers always do.
        host = headers.get("host")
        if host is not None and (refusal := self._names.refusal(host)) is not None:
            return refusal
        if headers.get("origin") in self._allowed or not self._is_guarded(scope["method"], scope["path"]):
            return None
        if is_same_origin(headers):
            return None
        return "Pages of other origins may not use this server. Allow an origin with --cors-origins."

    def _is_guarded(self, method: str, path: str) -> bool:
        if method in SAFE_METHODS:
            return method != "OPTIONS" and (self._operations.access_of(path) != "open" or path.startswith("/api/"))
        # The page of a SAML provider posts there. The answer has an effect only in the browser that began the login.
        return path != SAML_PATH


def is_same_origin(headers: Headers) -> bool:
    """Return whether the request comes from a page of this server, or from no page."""
    # A browser vouches for Sec-Fetch-Site; where it sends none (plain HTTP over a network) there is Origin.
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is None or _is_at(origin, headers.get("host", ""))


def _is_at(origin: str, host: str) -> bool:
    return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")
