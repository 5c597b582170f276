"""Routes of operations: each checks what its operation needs, and reads what its endpoint takes."""

from collections.abc import Mapping
from functools import wraps
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.http.operation import Operation
from app.http.query_params import Query
from app.http.request_body import read_body
from app.routes.rights import check_right
from app.services import server_services


def route_of(operation: Operation) -> Route:
    """Build the route of an operation."""

    @wraps(operation.endpoint)
    async def answer(request: Request) -> Response:
        if operation.right is not None:
            check_right(request, operation.right)
        if operation.needs_model:
            server_services(request).model.host.require()
        taken = await _taken(operation, request)
        if operation.needs_model and operation.loads_model and server_services(request).model.host.models is not None:
            # A server with one model answers without the code of several.
            from app.routes.model_wait import answer_when_loaded

            return await answer_when_loaded(operation, request, taken)
        return await operation.endpoint(request, **taken)

    return Route(operation.path, answer, methods=operation.methods)


async def _taken(operation: Operation, request: Request) -> Mapping[str, Any]:
    """Return what the endpoint takes, by the names of its parameters. Raise InvalidRequestError and as `read_body`."""
    query = operation.query.parse(request.query_params)
    return {
        name: query if issubclass(kind, Query) else await read_body(request, kind, operation.max_bytes)
        for name, kind in operation.takes.items()
    }
