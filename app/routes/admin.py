"""Routes under /api/admin: keys, people, tenants and their limits. They require the scope `admin`."""

from typing import Annotated

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.access.known_people import KnownPeople
from app.domain.bounds import MAX_PAGE, MAX_QUERY_LENGTH
from app.http.operation import Operation
from app.http.query_params import Query, texts, whole_numbers
from app.routes.acts import log_act
from app.routes.cursors import name_cursor, parse_name_cursor, time_cursor
from app.routes.pages_of_lists import DEFAULT_PAGE, Days, PageByTime, cursor_of
from app.schemas.admin import (
    ApiKeyPage,
    DeletedTenant,
    LimitFields,
    NewApiKey,
    NewKey,
    NewPerson,
    PersonFields,
    TenantPage,
    TenantWithLimits,
    key_body,
    limits_body,
)
from app.schemas.response_bodies.account import (
    AdminPerson,
    AdminPersonPage,
    InitialPassword,
    NewAdminPerson,
    TenantUsage,
    person_body,
)
from app.services import Services, server_services
from app.storage.matching import BEFORE_ALL
from app.tenants.name import parse_name
from app.tenants.person import Person
from app.tenants.principal import principal_of
from engine.api.errors import ConflictError, InvalidRequestError, NotFoundError


class Searched(Query):
    """The rows of a list that contain a text."""

    q: Annotated[str, texts(MAX_QUERY_LENGTH, is_trimmed=True)] = ""


class SearchedByTime(Searched, PageByTime):
    """A page of such rows, in the order of their times."""


class SearchedTenants(Searched, Days):
    """A page of tenants, in the order of their names."""

    limit: Annotated[int, whole_numbers(1, MAX_PAGE)] = DEFAULT_PAGE
    cursor: Annotated[str, cursor_of(parse_name_cursor)] = ""


async def list_keys(request: Request, asked: SearchedByTime) -> Response:
    """List a page of all keys ever created, revoked ones included, with `q` those that contain it.

    Secrets are never returned.
    """
    limit, after = asked.limit, asked.cursor or BEFORE_ALL
    keys = await server_services(request).store.keys.page(after=after, query=asked.q, limit=limit + 1)
    following = time_cursor((keys[limit - 1].created_at, keys[limit - 1].id)) if len(keys) > limit else None
    return JSONResponse(ApiKeyPage(data=[key_body(key) for key in keys[:limit]], next_cursor=following))


async def create_key(request: Request, fields: NewKey) -> Response:
    """Create a key, except to the chats of a person. The response holds its secret, which cannot be read again."""
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


async def list_people(request: Request, asked: SearchedByTime) -> Response:
    """List a page of the people that ever logged in, or have a password, with `q` those that contain it."""
    services = server_services(request)
    limit, after = asked.limit, asked.cursor or BEFORE_ALL
    people = await services.store.people.page(after=after, query=asked.q, limit=limit + 1)
    following = time_cursor((people[limit - 1].created_at, people[limit - 1].id)) if len(people) > limit else None
    data = [_described(services.access.ring.people, person) for person in people[:limit]]
    return JSONResponse(AdminPersonPage(data=data, next_cursor=following))


async def add_person(request: Request, fields: NewPerson) -> Response:
    """Create a person with a password. The response holds the initial one, which cannot be read again."""
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


async def change_person(request: Request, fields: PersonFields) -> Response:
    """Disable a person, whose logins and keys stop working at once, or admit the person again, or change the role."""
    services = server_services(request)
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


async def list_tenants(request: Request, asked: SearchedTenants) -> Response:
    """List a page of the tenants, each with its limits and its use of the last days, with `q` those that contain it."""
    limit = asked.limit
    found = await server_services(request).access.administration.tenants(
        asked.days, after=asked.cursor, query=asked.q, limit=limit + 1
    )
    following = name_cursor(found[limit - 1]["tenant"]) if len(found) > limit else None
    return JSONResponse(TenantPage(data=found[:limit], next_cursor=following))


async def set_limits(request: Request, fields: LimitFields) -> Response:
    """Replace a tenant's limits. A limit that is left out or null is removed."""
    tenant = _tenant(request)
    await server_services(request).access.administration.set_limits(tenant, fields.limits())
    log_act(request, "the limits of the tenant %s were set to %s", tenant, limits_body(fields.limits()))
    return JSONResponse(TenantWithLimits(tenant=tenant, limits=limits_body(fields.limits())))


async def tenant_usage(request: Request, asked: Days) -> Response:
    """Sum up the tokens of a tenant's stored answers by day, without a word of the chats."""
    usage = await server_services(request).store.of(_tenant(request)).usage.read(asked.days)
    return JSONResponse(TenantUsage(days=usage["days"]))


async def delete_tenant(request: Request) -> Response:
    """Delete a tenant's keys, conversations and KV for good. The tenant's limits stay."""
    tenant = _tenant(request)
    deleted = await server_services(request).access.administration.delete_tenant(tenant)
    log_act(request, "the tenant %s was deleted", tenant)
    return JSONResponse(deleted)


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


operations = [
    Operation("GET", "/api/admin/keys", list_keys, answer=ApiKeyPage, access="admin"),
    Operation("POST", "/api/admin/keys", create_key, answer=NewApiKey, status=201, access="admin"),
    Operation("DELETE", "/api/admin/keys/{id}", revoke_key, status=204, access="admin"),
    Operation("GET", "/api/admin/people", list_people, answer=AdminPersonPage, access="admin"),
    Operation("POST", "/api/admin/people", add_person, answer=NewAdminPerson, status=201, access="admin"),
    Operation("POST", "/api/admin/people/{id}/password", reset_password, answer=InitialPassword, access="admin"),
    Operation("PATCH", "/api/admin/people/{id}", change_person, answer=AdminPerson, access="admin"),
    Operation("POST", "/api/admin/replicas/{id}/drain", drain_replica, media=(), status=202, access="admin"),
    Operation("GET", "/api/admin/tenants", list_tenants, answer=TenantPage, access="admin"),
    Operation("DELETE", "/api/admin/tenants/{tenant}", delete_tenant, answer=DeletedTenant, access="admin"),
    Operation("GET", "/api/admin/tenants/{tenant}/usage", tenant_usage, answer=TenantUsage, access="admin"),
    Operation("PUT", "/api/admin/tenants/{tenant}/limits", set_limits, answer=TenantWithLimits, access="admin"),
]
