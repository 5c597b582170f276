"""Authentication: by a key in a header, by the cookie of a page where the user logged in, or by a trusted proxy."""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import closing

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.access.key_ring import KeyRing
from app.access.middleware import is_same_origin
from app.access.requests_in_progress import AccessWatch, OpenRequests
from app.accounts.proxy_login import ProxyLogin, UntrustedProxyError
from app.http.cookies import cookie_of
from app.http.error_responses import ForbiddenError, UnauthorizedError, error_response
from app.http.operation_table import OperationTable
from app.http.request_access import STATE
from app.http.request_body import MEMORY, BodyMemory
from app.logs.request_log import CURRENT_REQUEST
from app.tenants.limits import LimitName
from app.tenants.person import Identity
from app.tenants.principal import Principal
from app.transport.direct_writer import direct_writer
from app.transport.protocol import PEER

logger = logging.getLogger(__name__)

FORWARDING_HEADERS = ("forwarded", "via", "x-real-ip")
FORWARDING_PREFIX = "x-forwarded-"


def forwarding_header(headers: Headers) -> str | None:
    """Return the name of a header that only proxies add; None if there is none."""
    for name in headers.keys():  # noqa: SIM118 - iterating gives Any
        if name in FORWARDING_HEADERS or name.startswith(FORWARDING_PREFIX):
            return name
    return None


class KeylessProxyCheck:
    """Refusal of proxied requests while the server requires no keys. The first such request is logged.

    A server without keys is meant for clients on its own machine, but a proxy gives access to others. A proxy that adds
    no forwarding header and sends a local host name cannot be distinguished from a local client.
    """

    def __init__(self, *, is_open_by_choice: bool) -> None:
        """Create the check.

        is_open_by_choice: whether the operator admits everyone (`--without-keys`). Such a server only logs proxies.
        """
        self._is_open_by_choice = is_open_by_choice
        self._warned = False

    def refusal(self, headers: Headers) -> str | None:
        """Return the reason to refuse a request with these headers; None if the request may pass."""
        name = forwarding_header(headers)
        if name is None:
            return None
        if self._is_open_by_choice:
            self._warn(
                "the header %s shows that a proxy is in front, and --without-keys serves every client that the "
                "proxy lets through",
                name,
            )
            return None
        self._warn(
            "a request with the header %s was refused: behind a proxy, create a key with `ebb keys create NAME`", name
        )
        return (
            f"This server has no keys, so it serves its own machine only, and the header {name} shows that a "
            "proxy forwarded this request. Create a key with `ebb keys create NAME`, or start with "
            "--without-keys to serve every client that the proxy lets through."
        )

    def _warn(self, text: str, name: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(text, name)


COOKIE = "ebb_login"

PROBES = frozenset({"/health", "/ready"})
"""Paths that are answered from memory, independently of the database."""


class Authentication:
    """Middleware that sets the request state's principal, or answers 401 and 403. Writes nothing.

    The state's `principal` is None on open routes whose caller presents no valid key or login.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        operations: OperationTable,
        ring: KeyRing,
        open_requests: OpenRequests,
        count_refusal: Callable[[LimitName], None],
        proxy: ProxyLogin | None = None,
    ) -> None:
        """Wrap `app`.

        operations: the access level of every path, known before a request is routed.
        open_requests: number of open requests by tenant, which this middleware updates.
        count_refusal: counts a refusal by the limit that caused it.
        proxy: the proxy that authenticates people; None ignores the headers in which one would name them.
        """
        self._app = app
        self._operations = operations
        self._ring = ring
        self._open_requests = open_requests
        self._held_by_bodies = Counter[str]()
        self._count_refusal = count_refusal
        self._proxy = proxy
        self._watch = AccessWatch(ring)
        self._proxies = KeylessProxyCheck(is_open_by_choice=ring.auth_policy == "never")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Authenticate the request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._ring.refresh(wait=scope["path"] not in PROBES)
        headers = Headers(scope=scope)
        try:
            identity = await self._proxied_person(scope, headers)
        except UntrustedProxyError as error:
            await error_response(error)(scope, receive, send)
            return
        scope["state"]["identity"] = identity
        principal = identify(headers, self._ring, identity)
        if principal is None and scope["path"] not in PROBES and _shows_unknown(headers, self._ring):
            await self._ring.look_again()
            principal = identify(headers, self._ring, identity)
        scope["state"]["principal"] = principal
        record = CURRENT_REQUEST.get()
        if record is not None and principal is not None:
            record.tenant = principal.tenant
        access = self._operations.access_of(scope["path"])
        refusal = self._refusal(scope["path"], headers, principal, identity)
        if refusal is not None:
            await error_response(refusal)(scope, receive, send)
        elif principal is None or access == "open":
            await self._app(scope, receive, send)
        elif access == "admin" or not self._operations.counts(scope["path"]):
            # Administration and monitoring are not limited, so an administrator can undo a limit on the own tenant.
            await self._watched(principal, scope, receive, send)
        else:
            await self._counted(principal, scope, receive, send)

    async def _counted(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        tenant = principal.tenant
        limit = self._open_requests.refusal(tenant, shares=self._ring.requires_keys)
        if limit is not None:
            self._count_refusal(limit.limit)
            await error_response(limit)(scope, receive, send)
            return
        with self._open_requests.counted(tenant), closing(BodyMemory(self._held_by_bodies, tenant)) as memory:
            scope["state"][MEMORY] = memory
            await self._watched(principal, scope, receive, send)

    async def _watched(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application until the access of `principal` ends, which `app.http.request_access` describes."""
        headers, identity = Headers(scope=scope), scope["state"]["identity"]
        is_begun = is_complete = False

        def refusal() -> UnauthorizedError | ForbiddenError | None:
            now = identify(headers, self._ring, identity)
            is_other = now is not None and now.tenant != principal.tenant
            return self._refusal(scope["path"], headers, None if is_other else now, identity)

        async def send_noted(message: Message) -> None:
            nonlocal is_begun, is_complete
            if not is_begun and access.is_reported:
                # The answer to a client that has left: nothing, or an error of another kind.
                return
            is_begun = True
            is_complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        with self._watch.watched(receive, refusal) as access:
            scope["state"][STATE] = access
            try:
                await self._app(scope, access.receive, send_noted)
            except ClientDisconnect:
                if not access.is_reported:
                    raise
        if access.refusal is None or not access.is_reported or is_complete:
            return
        if not is_begun:
            await error_response(access.refusal)(scope, receive, send)
        elif (writer := direct_writer(scope)) is not None:
            writer.abort()

    async def _proxied_person(self, scope: Scope, headers: Headers) -> Identity | None:
        """Return the person that the proxy names, whose account exists from now on. Raise UntrustedProxyError."""
        identity = self._proxy.identity(headers, scope["state"].get(PEER)) if self._proxy is not None else None
        # The proxy vouches for the browser, not for the page that sent the request: another origin is refused.
        if identity is None or shown_key(headers) is not None or not is_same_origin(headers):
            return None
        await self._ring.meet(identity)
        return identity

    def _refusal(
        self, path: str, headers: Headers, principal: Principal | None, identity: Identity | None
    ) -> UnauthorizedError | ForbiddenError | None:
        if not self._ring.requires_keys and (reason := self._proxies.refusal(headers)) is not None:
            return ForbiddenError(reason, code="keys_needed_behind_proxy")
        access = self._operations.access_of(path)
        if access == "open":
            return None
        if principal is None and identity is not None:
            return ForbiddenError("Your account may not use this server: ask its administrator", code="account_refused")
        if principal is None:
            return UnauthorizedError(shown_key(headers) is not None)
        if access == "admin" and principal.scope != "admin":
            return ForbiddenError("This request requires a key with the scope admin", code="admin_scope_required")
        return None


def identify(headers: Headers, ring: KeyRing, identity: Identity | None = None) -> Principal | None:
    """Return the caller's principal, by the keys that `ring` read last; None without a valid key or login.

    identity: the person that a trusted proxy names; None without one.
    """
    if not ring.requires_keys:
        # Clients that cannot work without a key send an arbitrary one.
        return ring.anybody()
    if (key := shown_key(headers)) is not None:
        return ring.by_key(key)
    if identity is not None:
        return ring.by_identity(identity)
    login = shown_login(headers)
    return ring.by_login(login) if login is not None else None


def _shows_unknown(headers: Headers, ring: KeyRing) -> bool:
    """Return whether a client presents a key or a login that may have been made since the last reading."""
    if (key := shown_key(headers)) is not None:
        return ring.is_unknown_key(key)
    login = shown_login(headers)
    return login is not None and ring.is_unknown_login(login)


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
    return cookie_of(headers["cookie"], COOKIE)
