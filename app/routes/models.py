"""GET /v1/models: the served model, with the fields of OpenAI's and of Anthropic's API side by side."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.host.backend import Backend
from app.services import server_services
from app.serving.request import check_model


def _model(engine: Backend, created: int) -> dict[str, Any]:
    name = engine.model_name
    openai = {"id": name, "object": "model", "created": created, "owned_by": "ebb"}
    anthropic = {
        "type": "model",
        "display_name": name,
        "created_at": datetime.fromtimestamp(created, UTC).isoformat(),
        "lifecycle": "active",
        "max_input_tokens": engine.max_model_len,
        "max_tokens": engine.max_model_len,
    }
    return {**openai, **anthropic, "max_model_len": engine.max_model_len}


async def list_models(request: Request) -> Response:
    """List the one model that is served."""
    host = server_services(request).host
    engine = host.require()
    page = {"has_more": False, "first_id": engine.model_name, "last_id": engine.model_name}
    return JSONResponse({"object": "list", "data": [_model(engine, host.ready_at)], **page})


async def get_model(request: Request) -> Response:
    """Return a model by its name."""
    host = server_services(request).host
    engine = host.require()
    check_model(engine, request.path_params["name"])
    return JSONResponse(_model(engine, host.ready_at))


routes = [Route("/v1/models", list_models), Route("/v1/models/{name:path}", get_model)]
