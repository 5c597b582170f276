"""/api/login and /api/logout: exchange a key for a cookie that only this server's page can use."""

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.access.authentication import COOKIE, shown_login
from app.access.key_ring import LOGIN_SECONDS
from app.access.middleware import is_same_origin
from app.domain.bounds import MAX_LOGIN_BYTES
from app.http.error_responses import ForbiddenError, UnauthorizedError
from app.http.request_body import read_bytes
from app.schemas.admin import LoginFields
from app.schemas.parsing import parse_body
from app.schemas.response_bodies import login as bodies
from app.services import server_services
from app.tenants.principal import Principal


async def who(request: Request) -> Response:
    """Return the client's login, and whether the server requires keys."""
    requires_keys = server_services(request).ring.requires_keys
    principal: Principal | None = request.state.principal
    return JSONResponse(bodies.Login(demands_keys=requires_keys, principal=_shown(principal)))


async def log_in(request: Request) -> Response:
    """Exchange a key for a login cookie."""
    _check_origin(request)
    fields = parse_body(LoginFields, await read_bytes(request, MAX_LOGIN_BYTES))
    ring = server_services(request).ring
    principal = ring.by_key(fields.key)
    if principal is None:
        raise UnauthorizedError(was_shown=True)
    response = JSONResponse(bodies.Login(demands_keys=ring.requires_keys, principal=_shown(principal)))
    _set_cookie(request, response, await ring.log_in(principal), LOGIN_SECONDS)
    return response


async def log_out(request: Request) -> Response:
    """End the login of this page, if there is one."""
    _check_origin(request)
    login = shown_login(Headers(scope=request.scope))
    if login is not None:
        await server_services(request).ring.log_out(login)
    response = Response(status_code=204)
    _set_cookie(request, response, "", 0)
    return response


def _check_origin(request: Request) -> None:
    """Refuse every origin but the server's own. Raises ForbiddenError.

    An origin allowed by --cors-origins uses a key of its own and has no login on the page.
    """
    if not is_same_origin(Headers(scope=request.scope)):
        raise ForbiddenError("Only this server's own page may log in and out")


def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
    # A proxy on another machine is not trusted to report the scheme. If the Host header that it passes on names an
    # https `public_url`, the browser opened the page under that URL.
    opened_at = f"https://{request.headers.get('host', '')}"
    secure = request.url.scheme == "https" or opened_at == request.app.state.public_url
    response.set_cookie(COOKIE, value, max_age=seconds, secure=secure, httponly=True, samesite="strict")


def _shown(principal: Principal | None) -> bodies.Principal | None:
    if principal is None:
        return None
    return {"tenant": principal.tenant, "scope": principal.scope, "key_id": principal.key_id}


routes = [
    Route("/api/login", who),
    Route("/api/login", log_in, methods=["POST"]),
    Route("/api/logout", log_out, methods=["POST"]),
]
