"""Who asks: by a key in a header, or by the cookie of the page where somebody logged in."""

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access import PROBES, access_of
from app.error_responses import ForbiddenError, UnauthorizedError, error_response
from app.key_ring import KeyRing
from app.middleware import is_same_origin
from app.principal import Principal
from app.proxies import KeylessProxyCheck

COOKIE = "ebb_login"


class Authentication:
    """Middleware that puts the principal into the request's state, or answers 401 and 403. It writes nothing.

    The state's `principal` is None on open routes whose caller shows nothing that is worth anything.
    """

    def __init__(self, app: ASGIApp, ring: KeyRing) -> None:
        self._app = app
        self._ring = ring
        self._proxies = KeylessProxyCheck(is_open_by_choice=ring.demand == "never")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate the request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._ring.refresh(wait=scope["path"] not in PROBES)
        headers = Headers(scope=scope)
        principal = principal_of(headers, self._ring)
        scope["state"]["principal"] = principal
        refusal = self._refusal(scope["path"], headers, principal)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await error_response(refusal)(scope, receive, send)

    def _refusal(
        self, path: str, headers: Headers, principal: Principal | None
    ) -> UnauthorizedError | ForbiddenError | None:
        if not self._ring.demands_keys and (reason := self._proxies.refusal(headers)) is not None:
            return ForbiddenError(reason, code="keys_needed_behind_proxy")
        access = access_of(path)
        if access == "open":
            return None
        if principal is None:
            return UnauthorizedError(shown_key(headers) is not None)
        if access == "admin" and principal.scope != "admin":
            return ForbiddenError("This takes a key of scope admin", code="admin_scope_required")
        return None


def principal_of(headers: Headers, ring: KeyRing) -> Principal | None:
    """Who asks, by what `ring` has read last; None if nothing is shown that opens anything."""
    if not ring.demands_keys:
        # Clients that cannot do without a key send any.
        return ring.anybody()
    if (key := shown_key(headers)) is not None:
        return ring.by_key(key)
    login = shown_login(headers)
    return ring.by_login(login) if login is not None else None


def shown_key(headers: Headers) -> str | None:
    """What a client shows as its key, as OpenAI's clients send it or as Anthropic's do."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key")


def shown_login(headers: Headers) -> str | None:
    """The cookie, where the request comes from our own page: pages of other origins do not act with it."""
    if "cookie" not in headers or not is_same_origin(headers):
        return None
    return cookie_parser(headers["cookie"]).get(COOKIE)
