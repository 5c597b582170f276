"""/scim/v2: provisioning of people and groups by a provider, with a separate token. Errors are those of SCIM."""

from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.bounds import MAX_PROVISIONING_BYTES
from app.http.operation import Operation, RawBody
from app.http.request_body import read_bytes
from app.services import server_services
from engine.api.errors import NotFoundError

BASE: Final = "/scim/v2"


async def provision(request: Request) -> Response:
    """Serve a request of the provider."""
    provisioning = server_services(request).access.provisioning
    if provisioning is None:
        raise NotFoundError("This server has no provisioning", code="no_provisioning")
    if not provisioning.plan.admits(request.headers.get("authorization", "")):
        answer = provisioning.refuse()
    else:
        home = provisioning.plan.home or str(request.base_url).rstrip("/")
        body = await read_bytes(request, MAX_PROVISIONING_BYTES)
        answer = await provisioning.handle(
            method=request.method,
            base_url=f"{home}{BASE}",
            path=f"/{request.path_params['path']}",
            query=request.query_params,
            headers=request.headers,
            body=body,
        )
    if answer.body is None:
        return Response(status_code=answer.status, headers=answer.headers)
    return JSONResponse(answer.body, answer.status, answer.headers)


operations = [
    Operation(
        "GET POST PUT PATCH DELETE",
        f"{BASE}/{{path:path}}",
        provision,
        body=RawBody("application/scim+json", has_secret=True),
        access="open",
    ),
]
