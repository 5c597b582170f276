"""Routes under /api/account: who the caller is, the caller's use, and a person's own keys and logins.

Only a person that has logged in makes keys and ends logins. A key cannot make another key that would outlive it.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.error_responses import ForbiddenError
from app.http.operation import Operation
from app.routes.pages_of_lists import Days
from app.schemas.admin import ApiKeys, NewApiKey, OwnKey, key_body, limits_body
from app.schemas.response_bodies import account as bodies
from app.schemas.response_bodies.account import Account, AccountUsage, Sessions
from app.services import Services, server_services, services_of
from app.tenants.api_key import ApiKey
from app.tenants.person import OWN, Person
from app.tenants.principal import principal_of
from engine.api.errors import ConflictError, NotFoundError

MAX_OWN_KEYS = 32


async def show(request: Request) -> Response:
    """Return the caller's account."""
    services, principal = server_services(request), principal_of(request)
    person = services.access.ring.people.by_id.get(principal.person_id or "")
    provider = services.access.login_provider
    ends_there = provider is not None and principal.session_id is not None
    body: bodies.Account = {
        "tenant": principal.tenant,
        "name": person.shown_name if person is not None else "",
        "email": person.identity.email if person is not None else "",
        "scope": principal.scope,
        "is_person": person is not None,
        "limits": limits_body(services.access.ring.limits_of(principal.tenant)),
        "password": await _password_state(services, person),
        "logout_url": await provider.end_session_url() if provider is not None and ends_there else None,
    }
    return JSONResponse(body)


async def _password_state(services: Services, person: Person | None) -> bodies.PasswordState | None:
    if person is None or person.identity.issuer != OWN:
        return None
    logins = services.access.password_logins
    return {
        "is_initial": await logins.has_initial_password(person),
        "second_factor": await logins.has_factor(person),
    }


async def usage(request: Request, asked: Days) -> Response:
    """Return the tokens of the caller's stored answers, by day and by chat."""
    return JSONResponse(await services_of(request).store.usage.read(asked.days))


async def list_keys(request: Request) -> Response:
    """List the valid keys of the person's account."""
    keys = await _keys_of(request, _person_of(request))
    return JSONResponse(ApiKeys(data=[key_body(key) for key in keys]))


async def create_key(request: Request, fields: OwnKey) -> Response:
    """Create a key of the person's account, of scope user. The response holds its secret, which is shown only here."""
    person = _person_of(request)
    if len(await _keys_of(request, person)) >= MAX_OWN_KEYS:
        raise ConflictError(f"An account has at most {MAX_OWN_KEYS} keys: revoke one first", code="too_many_keys")
    key, secret = await server_services(request).access.administration.create_own_key(person, fields.name)
    body: NewApiKey = {**key_body(key), "key": secret}
    return JSONResponse(body, 201)


async def revoke_key(request: Request) -> Response:
    """Revoke a key of the person's account."""
    key_id = request.path_params["id"]
    if all(key.id != key_id for key in await _keys_of(request, _person_of(request))):
        raise NotFoundError(f"There is no key {key_id}", param="id", code="key_not_found")
    await server_services(request).access.administration.revoke_key(key_id)
    return Response(status_code=204)


async def list_sessions(request: Request) -> Response:
    """List the person's logins, the newest first."""
    person, current = _person_of(request), principal_of(request).session_id
    sessions = await server_services(request).store.people.sessions_of(person.id)
    return JSONResponse(bodies.Sessions(data=[bodies.session_body(session, current) for session in sessions]))


async def end_session(request: Request) -> Response:
    """End one of the person's logins, in this browser or another one."""
    person = _person_of(request)
    await server_services(request).access.ring.end_session(person.id, request.path_params["id"])
    return Response(status_code=204)


def _person_of(request: Request) -> Person:
    """Return the person that sent the request. Raise ForbiddenError for a key."""
    person_id = principal_of(request).person_id
    if person_id is None:
        raise ForbiddenError("Only a person who is logged in manages keys and sessions", code="person_required")
    return server_services(request).access.ring.people.by_id[person_id]


async def _keys_of(request: Request, person: Person) -> list[ApiKey]:
    return await server_services(request).store.keys.valid_of(person.tenant)


operations = [
    Operation("GET", "/api/account", show, answer=Account),
    Operation("GET", "/api/account/usage", usage, answer=AccountUsage),
    Operation("GET", "/api/account/keys", list_keys, answer=ApiKeys),
    Operation("POST", "/api/account/keys", create_key, answer=NewApiKey, status=201, right="keys"),
    Operation("DELETE", "/api/account/keys/{id}", revoke_key, status=204),
    Operation("GET", "/api/account/sessions", list_sessions, answer=Sessions),
    Operation("DELETE", "/api/account/sessions/{id}", end_session, status=204),
]
