"""GET /v1/models."""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.backend import Backend
from app.openai_serving import check_model
from app.services import services_of


def _model(engine: Backend, created: int) -> dict[str, Any]:
    return {
        "id": engine.model_name,
        "object": "model",
        "created": created,
        "owned_by": "ebb",
        "max_model_len": engine.max_model_len,
    }


async def list_models(request: Request) -> Response:
    """The one model that is served."""
    host = services_of(request).host
    return JSONResponse({"object": "list", "data": [_model(host.require(), host.ready_at)]})


async def get_model(request: Request) -> Response:
    """One model by its name."""
    host = services_of(request).host
    engine = host.require()
    check_model(engine, request.path_params["name"])
    return JSONResponse(_model(engine, host.ready_at))


routes = [Route("/v1/models", list_models), Route("/v1/models/{name:path}", get_model)]
