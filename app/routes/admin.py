"""Routes under /api/admin: keys, people, tenants and their limits. They require the scope `admin`."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.access.known_people import KnownPeople
from app.domain.bounds import MAX_PAGE, MAX_QUERY_LENGTH, MAX_USE_DAYS
from app.http.query_params import whole_number
from app.http.request_body import read_body
from app.routes.acts import log_act
from app.routes.cursors import name_cursor, parse_name_cursor, parse_time_place, time_cursor
from app.schemas.admin import LimitFields, NewKey, NewPerson, PersonFields
from app.schemas.response_bodies.account import (
    AdminPerson,
    AdminPersonPage,
    InitialPassword,
    NewAdminPerson,
    TenantUsage,
    person_body,
)
from app.schemas.response_bodies.admin import (
    ApiKeyPage,
    NewApiKey,
    TenantPage,
    TenantWithLimits,
    key_body,
    limits_body,
)
from app.services import Services, server_services
from app.storage.matching import BEFORE_ALL
from app.tenants.name import parse_name
from app.tenants.person import Person
from app.tenants.principal import principal_of
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError

DEFAULT_PAGE = 100


async def list_keys(request: Request) -> Response:
    """List a page of all keys ever created, revoked ones included, with `q` those that contain it.

    Secrets are never returned.
    """
    query, limit, cursor = _searched(request)
    after = parse_time_place(cursor) if cursor is not None else BEFORE_ALL
    keys = await server_services(request).store.keys.page(after=after, query=query, limit=limit + 1)
    following = time_cursor((keys[limit - 1].created_at, keys[limit - 1].id)) if len(keys) > limit else None
    return JSONResponse(ApiKeyPage(data=[key_body(key) for key in keys[:limit]], next_cursor=following))


async def create_key(request: Request) -> Response:
    """Create a key, except to the chats of a person. The response holds its secret, which cannot be read again."""
    fields = await read_body(request, NewKey)
    tenant = fields.tenant if fields.tenant is not None else fields.name
    key, secret = await server_services(request).access.administration.create_key(fields.name, tenant, fields.scope)
    log_act(request, "the key %s to the tenant %s, of scope %s, was created", key.id, key.tenant, key.scope)
    body: NewApiKey = {**key_body(key), "key": secret}
    return JSONResponse(body, 201)


async def revoke_key(request: Request) -> Response:
    """Revoke a key. Requests and logins that use it are refused from now on."""
    key_id: str = request.path_params["id"]
    await server_services(request).access.administration.revoke_key(key_id)
    log_act(request, "the key %s was revoked", key_id)
    return Response(status_code=204)


async def list_people(request: Request) -> Response:
    """List a page of the people that ever logged in, or have a password, with `q` those that contain it."""
    services = server_services(request)
    query, limit, cursor = _searched(request)
    after = parse_time_place(cursor) if cursor is not None else BEFORE_ALL
    people = await services.store.people.page(after=after, query=query, limit=limit + 1)
    following = time_cursor((people[limit - 1].created_at, people[limit - 1].id)) if len(people) > limit else None
    data = [_described(services.access.ring.people, person) for person in people[:limit]]
    return JSONResponse(AdminPersonPage(data=data, next_cursor=following))


async def add_person(request: Request) -> Response:
    """Create a person with a password. The response holds the initial one, which cannot be read again."""
    fields = await read_body(request, NewPerson)
    services = server_services(request)
    _check_passwords(services)
    person, password = await services.access.password_logins.add(fields.name, admin=fields.admin)
    log_act(request, "the person %s was added as %s", person.id, _role(fields.admin))
    body: NewAdminPerson = {**_described(services.access.ring.people, person), "password": password}
    return JSONResponse(body, 201)


async def reset_password(request: Request) -> Response:
    """Give a person an initial password, remove the second factor, and end the person's logins."""
    services = server_services(request)
    _check_passwords(services)
    person_id: str = request.path_params["id"]
    password = await services.access.password_logins.reset(person_id)
    log_act(request, "the password of the person %s was reset", person_id)
    return JSONResponse(InitialPassword(password=password))


async def change_person(request: Request) -> Response:
    """Disable a person, whose logins and keys stop working at once, or admit the person again, or change the role."""
    services = server_services(request)
    fields = await read_body(request, PersonFields)
    person_id: str = request.path_params["id"]
    if principal_of(request).person_id == person_id and (fields.disabled or fields.admin is False):
        raise ConflictError("You cannot disable your own account, or end your own role", code="own_account")
    person: Person | None = None
    if fields.admin is not None:
        person = await services.access.administration.set_admin(person_id, fields.admin)
        log_act(request, "the person %s was made %s", person_id, _role(fields.admin))
    if fields.disabled is not None:
        person = await services.access.administration.set_disabled(person_id, fields.disabled)
        log_act(request, "the person %s was %s", person_id, "disabled" if fields.disabled else "admitted again")
    if person is None:
        raise InvalidRequestError("Give disabled or admin", param="disabled")
    return JSONResponse(_described(services.access.ring.people, person))


async def list_tenants(request: Request) -> Response:
    """List a page of the tenants, each with its limits and its use of the last days, with `q` those that contain it."""
    days = whole_number(request, "days", 30, low=1, high=MAX_USE_DAYS)
    query, limit, cursor = _searched(request)
    after = parse_name_cursor(cursor) if cursor is not None else ""
    found = await server_services(request).access.administration.tenants(
        days, after=after, query=query, limit=limit + 1
    )
    following = name_cursor(found[limit - 1]["tenant"]) if len(found) > limit else None
    return JSONResponse(TenantPage(data=found[:limit], next_cursor=following))


async def set_limits(request: Request) -> Response:
    """Replace a tenant's limits. A limit that is left out or null is removed."""
    tenant = _tenant(request)
    fields = await read_body(request, LimitFields)
    await server_services(request).access.administration.set_limits(tenant, fields.limits())
    log_act(request, "the limits of the tenant %s were set to %s", tenant, limits_body(fields.limits()))
    return JSONResponse(TenantWithLimits(tenant=tenant, limits=limits_body(fields.limits())))


async def tenant_usage(request: Request) -> Response:
    """Sum up the tokens of a tenant's stored answers by day, without a word of the chats."""
    days = whole_number(request, "days", 30, low=1, high=MAX_USE_DAYS)
    usage = await server_services(request).store.of(_tenant(request)).usage.read(days)
    return JSONResponse(TenantUsage(days=usage["days"]))


async def delete_tenant(request: Request) -> Response:
    """Delete a tenant's keys, conversations and KV for good. The tenant's limits stay."""
    tenant = _tenant(request)
    deleted = await server_services(request).access.administration.delete_tenant(tenant)
    log_act(request, "the tenant %s was deleted", tenant)
    return JSONResponse(deleted)


def _searched(request: Request) -> tuple[str, int, str | None]:
    """Return the text to look for, the length of the page and the cursor. Raise InvalidRequestError."""
    query = request.query_params.get("q", "").strip()
    if len(query) > MAX_QUERY_LENGTH:
        raise InvalidRequestError(f"q may have at most {MAX_QUERY_LENGTH} characters", param="q")
    limit = whole_number(request, "limit", DEFAULT_PAGE, low=1, high=MAX_PAGE)
    return query, limit, request.query_params.get("cursor")


def _described(known: KnownPeople, person: Person) -> AdminPerson:
    return person_body(person, known.role_of(person), known.rights_of(person.tenant))


def _role(admin: bool) -> str:
    return "an administrator" if admin else "a user"


def _check_passwords(services: Services) -> None:
    """Raise NotFoundError unless people can log in with passwords."""
    if not services.access.accounts.rules.admits_own:
        raise NotFoundError("This server has no passwords: start it with --passwords", code="no_passwords")


def _tenant(request: Request) -> str:
    try:
        return parse_name(request.path_params["tenant"])
    except ValueError as error:
        raise InvalidRequestError(str(error), param="tenant") from None


async def drain_replica(request: Request) -> Response:
    """Have the other replicas of the engine continue the answers of one, which then restarts."""
    replica: str = request.path_params["id"]
    if not replica.isdecimal():
        raise NotFoundError(f"There is no replica {replica}", code="replica_not_found")
    server_services(request).model.host.require().drain_replica(int(replica))
    log_act(request, "the replica %s was drained", replica)
    return Response(status_code=202)


routes = [
    Route("/api/admin/keys", list_keys),
    Route("/api/admin/keys", create_key, methods=["POST"]),
    Route("/api/admin/keys/{id}", revoke_key, methods=["DELETE"]),
    Route("/api/admin/people", list_people),
    Route("/api/admin/people", add_person, methods=["POST"]),
    Route("/api/admin/people/{id}/password", reset_password, methods=["POST"]),
    Route("/api/admin/people/{id}", change_person, methods=["PATCH"]),
    Route("/api/admin/replicas/{id}/drain", drain_replica, methods=["POST"]),
    Route("/api/admin/tenants", list_tenants),
    Route("/api/admin/tenants/{tenant}", delete_tenant, methods=["DELETE"]),
    Route("/api/admin/tenants/{tenant}/usage", tenant_usage),
    Route("/api/admin/tenants/{tenant}/limits", set_limits, methods=["PUT"]),
]
