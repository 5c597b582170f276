"""Protection of the server from pages of other sites: the origins that may use it, and the host names that it has."""

from collections.abc import Collection
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.auth_policy import AuthPolicy
from app.accounts.login_provider import SAML_PATH
from app.config.parsers import LOOPBACK_NAMES, is_loopback
from app.http.error_responses import ForbiddenError, error_response
from app.http.operation_table import OperationTable

LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
"""Domains that public DNS does not resolve (RFC 6761, 6762, 8375; ICANN for .internal)."""


class HostNames:
    """Names in the Host header under which a server answers, so that a foreign name cannot be bound to its address.

    In DNS rebinding a page of evil.example changes the address of evil.example to the server's. The browser then takes
    the server for the page's own. Where no key is demanded, only the name in the Host header tells the two apart.
    """

    def __init__(self, bound_host: str, public_url: str, auth_policy: AuthPolicy) -> None:
        """Create the names of a server.

        bound_host: address that the server listens on.
        public_url: URL that people open; "" if unknown.
        auth_policy: when the server demands a key.
        """
        self._known = LOOPBACK_NAMES | {bound_host, urlsplit(public_url).hostname or bound_host}
        self._is_local = is_loopback(bound_host)
        # Where keys are always demanded, a page under another name has no key to act with.
        self._takes_any = auth_policy == "always"

    def refusal(self, host_header: str) -> str | None:
        """Return the reason why the server does not answer to the name in `host_header`; None if it does."""
        name = host_name(host_header)
        if self._takes_any or name in self._known or self._is_at_home(name):
            return None
        scope = "listens on this machine only" if self._is_local else "requires no keys"
        return (
            f"This server {scope} and does not answer to the name {name!r}. If a proxy in front of the server "
            f"keeps that name, start the server with --public-url https://{name or 'NAME'}."
        )

    def _is_at_home(self, name: str) -> bool:
        if self._is_local:
            return name.endswith(".localhost")
        return "." not in name.rstrip(".") or name.endswith(LOCAL_SUFFIXES) or _is_address(name)


def host_name(host_header: str) -> str:
    """Return the name without the port; empty if the header does not name a host."""
    try:
        return urlsplit(f"//{host_header}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


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
