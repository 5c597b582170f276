"""/api/admin: keys, tenants and their limits; of scope admin."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.request_body import read_body
from app.schemas.admin import LimitFields, NewKey
from app.services import server_services
from app.tenant_name import parse_name
from engine.errors import InvalidRequestError


async def list_keys(request: Request) -> Response:
    """All that were ever made, without what opens anything."""
    keys = await server_services(request).store.keys.all()
    return JSONResponse({"data": [key.to_json() for key in keys]})


async def create_key(request: Request) -> Response:
    """A new one; its secret is in this answer and nowhere else."""
    fields = await read_body(request, NewKey)
    tenant = fields.tenant if fields.tenant is not None else fields.name
    key, secret = await server_services(request).administration.create_key(fields.name, tenant, fields.scope)
    return JSONResponse({**key.to_json(), "key": secret}, 201)


async def revoke_key(request: Request) -> Response:
    """It opens nothing any more."""
    await server_services(request).administration.revoke_key(request.path_params["id"])
    return Response(status_code=204)


async def list_tenants(request: Request) -> Response:
    """Who there is, and what each used since the server started."""
    return JSONResponse({"data": await server_services(request).administration.tenants()})


async def set_limits(request: Request) -> Response:
    """What a tenant may use."""
    tenant = _tenant(request)
    fields = await read_body(request, LimitFields)
    await server_services(request).administration.set_limits(tenant, fields.limits())
    return JSONResponse({"tenant": tenant, "limits": fields.limits().to_json()})


async def delete_tenant(request: Request) -> Response:
    """Its keys, chats and KV; there is no way back."""
    return JSONResponse(await server_services(request).administration.delete_tenant(_tenant(request)))


def _tenant(request: Request) -> str:
    try:
        return parse_name(request.path_params["tenant"])
    except ValueError as error:
        raise InvalidRequestError(str(error), param="tenant") from None


routes = [
    Route("/api/admin/keys", list_keys),
    Route("/api/admin/keys", create_key, methods=["POST"]),
    Route("/api/admin/keys/{id}", revoke_key, methods=["DELETE"]),
    Route("/api/admin/tenants", list_tenants),
    Route("/api/admin/tenants/{tenant}", delete_tenant, methods=["DELETE"]),
    Route("/api/admin/tenants/{tenant}/limits", set_limits, methods=["PUT"]),
]
