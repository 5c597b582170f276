"""/api/login and /api/logout: exchange a key, or a login at a provider, for a cookie that only the own page can use."""

import logging
from functools import partial
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from app.access.authentication import COOKIE, shown_login
from app.access.key_ring import LOGIN_SECONDS
from app.access.middleware import is_same_origin
from app.access.saml_logins import SamlLogins
from app.accounts.attempts import ATTEMPT_SECONDS, new_attempt
from app.accounts.errors import LoginRefusedError
from app.accounts.failed_logins import Source
from app.accounts.known_browsers import COOKIE as BROWSER_COOKIE
from app.accounts.known_browsers import COOKIE_SECONDS
from app.accounts.login_provider import CALLBACK_PATH, SAML_METADATA_PATH, SAML_PATH, STATE, LoginProvider
from app.accounts.login_turns import LoginLine
from app.accounts.own_path import parse_own_path
from app.domain.bounds import MAX_LOGIN_BYTES, MAX_SAML_BYTES
from app.domain.rights import RIGHTS
from app.domain.token_prices import TokenPrices
from app.http.client_presence import stop_if_left
from app.http.cookies import cookie_of
from app.http.error_responses import ForbiddenError, UnauthorizedError
from app.http.media_types import FORM
from app.http.operation import Operation, RawBody
from app.http.query_params import AnyText, Query
from app.http.request_body import read_bytes
from app.schemas.admin import LoginFields, LoginStartFields, PasswordLoginFields
from app.schemas.response_bodies import login as bodies
from app.schemas.response_bodies.login import Login, LoginStart
from app.services import Services, server_services
from app.tenants.person import OWN, Person
from app.tenants.principal import Principal
from app.transport.connections import network_of
from engine.api.errors import NotFoundError, OutageError, OverloadedError

ATTEMPT_COOKIE = "ebb_login_attempt"
PASSWORD_PATH = "/api/login/password"
MAX_CLIENT = 200

logger = logging.getLogger(__name__)


class ProviderAnswer(Query):
    """The answer of a provider, as the providers know it."""

    code: AnyText = ""
    state: AnyText = ""
    iss: AnyText = ""


async def who(request: Request) -> Response:
    """Return the client's login, and whether the server requires keys."""
    principal: Principal | None = request.state.principal
    return JSONResponse(await _login(server_services(request), principal))


async def log_in(request: Request, fields: LoginFields) -> Response:
    """Exchange a key for a login cookie."""
    _check_origin(request)
    services = server_services(request)
    ring = services.access.ring
    key = fields.key.get_secret_value()
    if ring.is_unknown_key(key):
        await ring.look_again()
    principal = ring.by_key(key)
    if principal is None:
        raise UnauthorizedError(was_shown=True)
    response = JSONResponse(await _login(services, principal))
    _set_cookie(request, response, await ring.log_in(principal), LOGIN_SECONDS)
    return response


async def log_in_with_password(request: Request, fields: PasswordLoginFields) -> Response:
    """Exchange a name and a password, of this server or of the directory, for a login cookie.

    The code is needed where a person of this server has a second factor.
    """
    _check_origin(request)
    services = server_services(request)
    mark = cookie_of(request.headers.get("cookie", ""), BROWSER_COOKIE)
    stop = partial(stop_if_left, request.scope)
    source = services.access.accounts.browsers.source(mark, fields.name, _address(request), stop)
    person = await _person_with_password(services, fields, source)
    principal = services.access.ring.people.principal_of(person)
    if principal is None:
        raise _refused(person)
    response = JSONResponse(await _login(services, principal))
    _set_cookie(request, response, await _begin_session(request, services, person), _seconds(services))
    _mark_browser(request, response, services.access.accounts.browsers.mark(fields.name))
    return response


async def start(request: Request, fields: LoginStartFields) -> Response:
    """Begin a login at the provider. The response names the address that the page opens."""
    _check_origin(request)
    services = server_services(request)
    provider = _provider(services.access.login_provider)
    attempt = new_attempt(parse_own_path(fields.next))
    response = JSONResponse(bodies.LoginStart(url=await provider.authorization_url(attempt)))
    _set_attempt(request, response, services.access.accounts.sealer.seal(attempt), ATTEMPT_SECONDS)
    return response


async def receive_answer(request: Request) -> Response:
    """Take a SAML answer, which the provider's page has the browser post.

    The browser sends no cookie with such a request, so it is sent on to the callback.
    """
    try:
        logins = _saml(server_services(request))
        form = parse_qs((await read_bytes(request, MAX_SAML_BYTES)).decode("ascii", "replace"), max_num_fields=8)
        place = LoginLine(_address(request), partial(stop_if_left, request.scope))
        parameters = await logins.receive(form.get("SAMLResponse", [""])[0], place)
    except (LoginRefusedError, OverloadedError, OutageError, ValueError) as error:
        logger.warning("a login was refused: %s", error)
        code = _page_code(error)
        return RedirectResponse(f"/?login={code}", 303)
    return RedirectResponse(f"{CALLBACK_PATH}?{urlencode(parameters)}", 303)


async def describe_service(request: Request) -> Response:
    """Return the SAML metadata of this server."""
    return Response(
        _saml(server_services(request)).provider.service.metadata(), media_type="application/samlmetadata+xml"
    )


async def callback(request: Request) -> Response:
    """Complete a login with the provider's answer, and return to the page."""
    services = server_services(request)
    provider = _provider(services.access.login_provider)
    try:
        path, secret = await _complete(request, services, provider)
    except (LoginRefusedError, OutageError) as error:
        logger.warning("a login was refused: %s", error.message)
        # The page's own words describe the reason: nothing from the address reaches it.
        code = _page_code(error)
        response = RedirectResponse(f"/?login={code}", 303)
    else:
        response = RedirectResponse(path, 303)
        _set_cookie(request, response, secret, _seconds(services))
    _set_attempt(request, response, "", 0)
    return response


async def log_out(request: Request) -> Response:
    """End the login of this page, if there is one."""
    _check_origin(request)
    login = shown_login(Headers(scope=request.scope))
    if login is not None:
        await server_services(request).access.ring.log_out(login)
    response = Response(status_code=204)
    _set_cookie(request, response, "", 0)
    return response


async def _complete(request: Request, services: Services, provider: LoginProvider) -> tuple[str, str]:
    """Return the path to return to and the secret of the new login.

    Raise LoginRefusedError, OutageError.
    """
    cookie = cookie_of(request.headers.get("cookie", ""), ATTEMPT_COOKIE)
    query = request.query_params
    attempt = services.access.accounts.sealer.open(cookie, query.get(STATE, ""))
    identity = await provider.identity_of(query, attempt)
    person = await services.access.ring.meet(identity)
    if services.access.ring.people.role_of(person) is None:
        raise _refused(person)
    return attempt.next, await _begin_session(request, services, person)


async def _person_with_password(services: Services, fields: PasswordLoginFields, source: Source) -> Person:
    """Return the person with the name and the password, who is one of this server if the name is."""
    has_own, directory = services.access.accounts.rules.admits_own, services.access.directory_logins
    password, code = fields.password.get_secret_value(), fields.code.get_secret_value()
    if directory is not None and not (has_own and await services.access.password_logins.knows(fields.name)):
        return await directory.log_in(fields.name, password, source)
    if not has_own:
        raise NotFoundError("This server has no passwords", code="no_passwords")
    return await services.access.password_logins.log_in(fields.name, password, code, source)


def _page_code(error: Exception) -> str:
    """Return the word by which the page knows the reason of a failed login."""
    match error:
        case LoginRefusedError():
            return error.page_code
        case OutageError() | OverloadedError():
            return "unavailable"
        case _:
            return "failed"


def _refused(person: Person) -> LoginRefusedError:
    reason = "disabled" if person.disabled_at is not None else "groups"
    return LoginRefusedError(f"The person {person.id} may not log in ({reason})", reason)


def client_of(request: Request) -> str:
    """Return the name of a browser, as its person sees it in the list of logins."""
    return "".join(filter(str.isprintable, request.headers.get("user-agent", "")))[:MAX_CLIENT]


async def _begin_session(request: Request, services: Services, person: Person) -> str:
    secret = await services.access.ring.begin_session(
        person, client_of(request), services.access.accounts.login_seconds
    )
    logger.info("the person %s logged in", person.id)
    return secret


def _seconds(services: Services) -> int:
    return int(services.access.accounts.login_seconds)


def _provider(provider: LoginProvider | None) -> LoginProvider:
    if provider is None:
        raise NotFoundError("This server has no login provider", code="no_login_provider")
    return provider


def _saml(services: Services) -> SamlLogins:
    if services.access.saml_logins is None:
        raise NotFoundError("This server has no SAML provider", code="no_login_provider")
    return services.access.saml_logins


def _check_origin(request: Request) -> None:
    """Refuse every origin but the server's own. Raise ForbiddenError.

    An origin allowed by --cors-origins uses a separate key and has no login on the page.
    """
    if not is_same_origin(Headers(scope=request.scope)):
        raise ForbiddenError("Only this server's own page may log in and out")


def _set_cookie(request: Request, response: Response, value: str, seconds: int) -> None:
    secure = _is_secure(request)
    response.set_cookie(COOKIE, value, max_age=seconds, secure=secure, httponly=True, samesite="strict")


def _set_attempt(request: Request, response: Response, value: str, seconds: int) -> None:
    # Lax: the provider's page sends the browser here. Only this one path receives the cookie.
    secure = _is_secure(request)
    response.set_cookie(
        ATTEMPT_COOKIE, value, max_age=seconds, path=CALLBACK_PATH, secure=secure, httponly=True, samesite="lax"
    )


def _mark_browser(request: Request, response: Response, mark: str) -> None:
    # Only the one path at which passwords are tried receives the cookie.
    response.set_cookie(
        BROWSER_COOKIE,
        mark,
        max_age=COOKIE_SECONDS,
        path=PASSWORD_PATH,
        secure=_is_secure(request),
        httponly=True,
        samesite="strict",
    )


def _address(request: Request) -> str:
    """Return the network of the client; behind a proxy on this machine, of the client that the proxy names."""
    return network_of(request.client.host if request.client is not None else None)


def _is_secure(request: Request) -> bool:
    # A proxy on another machine is not trusted to report the scheme. If the Host header that it passes on names an
    # https `public_url`, the browser opened the page under that URL. The provider sends people to no other one.
    public_url = request.app.state.public_url
    if server_services(request).access.login_provider is not None and public_url.startswith("https:"):
        return True
    return request.url.scheme == "https" or f"https://{request.headers.get('host', '')}" == public_url


async def _login(services: Services, principal: Principal | None) -> bodies.Login:
    provider = services.access.login_provider
    return bodies.Login(
        demands_keys=services.access.ring.requires_keys,
        principal=await _shown(services, principal),
        provider=provider.label if provider is not None else None,
        passwords=services.access.accounts.rules.admits_own,
        directory=services.access.accounts.directory is not None,
        share_links=services.share_links,
        token_prices=_prices(services.token_prices),
    )


def _prices(prices: TokenPrices | None) -> bodies.TokenPrices | None:
    if prices is None:
        return None
    return {"currency": prices.currency, "input": prices.input, "cached": prices.cached, "output": prices.output}


async def _shown(services: Services, principal: Principal | None) -> bodies.Principal | None:
    if principal is None:
        return None
    person = services.access.ring.people.by_id.get(principal.person_id or "")
    initial = False
    if person is not None and person.identity.issuer == OWN:
        initial = await services.access.password_logins.has_initial_password(person)
    return {
        "tenant": principal.tenant,
        "scope": principal.scope,
        "key_id": principal.key_id,
        "name": person.shown_name if person is not None else None,
        "initial_password": initial,
        "rights": [right for right in RIGHTS if right in services.access.ring.people.rights_of(principal.tenant)],
    }


operations = [
    Operation("GET", "/api/login", who, answer=Login, access="open"),
    Operation("POST", "/api/login", log_in, max_bytes=MAX_LOGIN_BYTES, answer=Login, access="open"),
    Operation("POST", PASSWORD_PATH, log_in_with_password, max_bytes=MAX_LOGIN_BYTES, answer=Login, access="open"),
    Operation("POST", "/api/login/start", start, max_bytes=MAX_LOGIN_BYTES, answer=LoginStart, access="open"),
    Operation("GET", "/login/callback", callback, query=ProviderAnswer, media=(), status=303, access="open"),
    Operation("POST", SAML_PATH, receive_answer, body=RawBody(FORM, has_secret=True), access="open"),
    Operation("GET", SAML_METADATA_PATH, describe_service, access="open"),
    Operation("POST", "/api/logout", log_out, status=204, access="open"),
]
