"""Routes of a person's own password and second factor, under /api/account."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.error_responses import ForbiddenError
from app.http.operation import Operation
from app.schemas.admin import CodeFields, OwnPassword, PasswordFields
from app.schemas.response_bodies.account import RecoveryCodes, SecondFactor
from app.services import server_services
from app.tenants.person import OWN, Person
from app.tenants.principal import principal_of


async def change_password(request: Request, fields: PasswordFields) -> Response:
    """Change the own password, and end the logins in other browsers."""
    person, session_id = _own_login(request)
    logins = server_services(request).access.password_logins
    old, new = fields.old_password.get_secret_value(), fields.new_password.get_secret_value()
    await logins.change(person, old, new, session_id)
    return Response(status_code=204)


async def begin_factor(request: Request, fields: OwnPassword) -> Response:
    """Draw a second factor, with the own password. Logins require it once it is confirmed."""
    person, session_id = _own_login(request)
    logins, password = server_services(request).access.password_logins, fields.password.get_secret_value()
    factor = await logins.begin_factor(person, password, session_id)
    return JSONResponse(SecondFactor(secret=factor.secret, uri=factor.uri), 201)


async def confirm_factor(request: Request, fields: CodeFields) -> Response:
    """Confirm the second factor with a code. The response holds the recovery codes."""
    person, _ = _own_login(request)
    logins = server_services(request).access.password_logins
    codes = await logins.confirm_factor(person, fields.code.get_secret_value())
    return JSONResponse(RecoveryCodes(codes=codes))


async def remove_factor(request: Request, fields: OwnPassword) -> Response:
    """Remove the second factor."""
    person, session_id = _own_login(request)
    logins, password = server_services(request).access.password_logins, fields.password.get_secret_value()
    await logins.remove_factor(person, password, session_id)
    return Response(status_code=204)


def _own_login(request: Request) -> tuple[Person, str]:
    """Return the person that sent the request and the id of the login.

    Raise ForbiddenError for a key, and for people without a password.
    """
    principal = principal_of(request)
    person = server_services(request).access.ring.people.by_id[principal.person_id] if principal.person_id else None
    if person is None or principal.session_id is None or person.identity.issuer != OWN:
        raise ForbiddenError("Only a person who logged in with a password can do this", code="password_required")
    return person, principal.session_id


operations = [
    Operation("PUT", "/api/account/password", change_password, status=204),
    Operation("POST", "/api/account/second-factor", begin_factor, answer=SecondFactor, status=201),
    Operation("PUT", "/api/account/second-factor", confirm_factor, answer=RecoveryCodes),
    Operation("POST", "/api/account/second-factor/removal", remove_factor, status=204),
]
