"""Authentication: by a key in a header, or by the cookie of a page where the user logged in."""

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Receive, Scope, Send

from app.access.key_ring import KeyRing
from app.access.middleware import is_same_origin
from app.access.open_requests import OpenRequests
from app.access.path_access import PROBES, access_of
from app.access.proxies import KeylessProxyCheck
from app.http.error_responses import ForbiddenError, UnauthorizedError, error_response
from app.tenants.limits import LimitName
from app.tenants.principal import Principal

COOKIE = "ebb_login"


class Authentication:
    """Middleware that sets the request state's principal, or answers 401 and 403. Writes nothing.

    The state's `principal` is None on open routes whose caller presents no valid key or login.
    """

    def __init__(
        self, app: ASGIApp, ring: KeyRing, open_requests: OpenRequests, count_refusal: Callable[[LimitName], None]
    ) -> None:
        """Wrap `app`.

        open_requests: number of open requests by tenant, which this middleware updates.
        count_refusal: counts a refusal by the limit that caused it.
        """
        self._app = app
        self._ring = ring
        self._open_requests = open_requests
        self._count_refusal = count_refusal
        self._proxies = KeylessProxyCheck(is_open_by_choice=ring.auth_policy == "never")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate the request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._ring.refresh(wait=scope["path"] not in PROBES)
        headers = Headers(scope=scope)
        principal = identify(headers, self._ring)
        scope["state"]["principal"] = principal
        refusal = self._refusal(scope["path"], headers, principal)
        if refusal is not None:
            await error_response(refusal)(scope, receive, send)
        elif principal is None or access_of(scope["path"]) != "user":
            # Administration and monitoring are not limited, so an administrator can undo a limit on the own tenant.
            await self._app(scope, receive, send)
        else:
            await self._counted(principal.tenant, scope, receive, send)

    async def _counted(self, tenant: str, scope: Scope, receive: Receive, send: Send) -> None:
        limit = self._open_requests.refusal(tenant, shares=self._ring.requires_keys)
        if limit is not None:
            self._count_refusal(limit.limit)
            await error_response(limit)(scope, receive, send)
            return
        with self._open_requests.counted(tenant):
            await self._app(scope, receive, send)

    def _refusal(
        self, path: str, headers: Headers, principal: Principal | None
    ) -> UnauthorizedError | ForbiddenError | None:
        if not self._ring.requires_keys and (reason := self._proxies.refusal(headers)) is not None:
            return ForbiddenError(reason, code="keys_needed_behind_proxy")
        access = access_of(path)
        if access == "open":
            return None
        if principal is None:
            return UnauthorizedError(shown_key(headers) is not None)
        if access == "admin" and principal.scope != "admin":
            return ForbiddenError("This request requires a key with the scope admin", code="admin_scope_required")
        return None


def identify(headers: Headers, ring: KeyRing) -> Principal | None:
    """Return the caller's principal, by the keys that `ring` read last; None without a valid key or login."""
    if not ring.requires_keys:
        # Clients that cannot work without a key send an arbitrary one.
        return ring.anybody()
    if (key := shown_key(headers)) is not None:
        return ring.by_key(key)
    login = shown_login(headers)
    return ring.by_login(login) if login is not None else None


def shown_key(headers: Headers) -> str | None:
    """Return the key that a client presents, in the header of OpenAI's clients or of Anthropic's."""
    kind, _, value = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and value.strip():
        return value.strip()
    return headers.get("x-api-key")


def shown_login(headers: Headers) -> str | None:
    """Return the login cookie of a request from Ebb's own page. Pages of other origins cannot act with it."""
    if "cookie" not in headers or not is_same_origin(headers):
        return None
    return cookie_parser(headers["cookie"]).get(COOKIE)
