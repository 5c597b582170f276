"""Routes of a person's own password and second factor, under /api/account."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.http.error_responses import ForbiddenError
from app.http.request_body import read_body
from app.schemas.admin import CodeFields, OwnPassword, PasswordFields
from app.schemas.response_bodies.account import RecoveryCodes, SecondFactor
from app.services import server_services
from app.tenants.person import OWN, Person
from app.tenants.principal import principal_of


async def change_password(request: Request) -> Response:
    """Change the own password, and end the logins in other browsers."""
    fields = await read_body(request, PasswordFields)
    logins, person = server_services(request).password_logins, _own_person(request)
    await logins.change(person, fields.old_password, fields.new_password, principal_of(request).session_id)
    return Response(status_code=204)


async def begin_factor(request: Request) -> Response:
    """Draw a second factor. Logins require it once it is confirmed."""
    factor = await server_services(request).password_logins.begin_factor(_own_person(request))
    return JSONResponse(SecondFactor(secret=factor.secret, uri=factor.uri), 201)


async def confirm_factor(request: Request) -> Response:
    """Confirm the second factor with a code. The response holds the recovery codes."""
    fields = await read_body(request, CodeFields)
    codes = await server_services(request).password_logins.confirm_factor(_own_person(request), fields.code)
    return JSONResponse(RecoveryCodes(codes=codes))


async def remove_factor(request: Request) -> Response:
    """Remove the second factor."""
    fields = await read_body(request, OwnPassword)
    await server_services(request).password_logins.remove_factor(_own_person(request), fields.password)
    return Response(status_code=204)


def _own_person(request: Request) -> Person:
    """Return the person that sent the request. Raises ForbiddenError for a key, and for people without a password."""
    person_id = principal_of(request).person_id
    person = server_services(request).ring.people.by_id[person_id] if person_id is not None else None
    if person is None or person.identity.issuer != OWN:
        raise ForbiddenError("Only a person who logged in with a password can do this", code="password_required")
    return person


routes = [
    Route("/api/account/password", change_password, methods=["PUT"]),
    Route("/api/account/second-factor", begin_factor, methods=["POST"]),
    Route("/api/account/second-factor", confirm_factor, methods=["PUT"]),
    Route("/api/account/second-factor/removal", remove_factor, methods=["POST"]),
]
