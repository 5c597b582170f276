"""GET /v1/models: the models, their adapters and aliases.

The fields are those of OpenAI's, vLLM's, Anthropic's and llama.cpp's APIs.

POST /models/load and /models/unload of llama.cpp's API for a server that has several.
"""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.host.backend import Backend
from app.host.engine_host import EngineHost
from app.host.served_model import ServedModel
from app.http.operation import Operation
from app.routes.model_status import model_status
from app.schemas.models import ModelChoice
from app.services import server_services
from engine.api.errors import NotFoundError


def _model(host: EngineHost, engine: Backend, name: str) -> dict[str, Any]:
    """Describe a model or an adapter under its own name or under an alias."""
    adapter = host.adapter_of(name)
    entry = host.models.find(engine.model_name) if host.models is not None else None
    window = engine.max_model_len if entry is None or entry.facts is not None else None
    openai = {"id": name, "object": "model", "created": host.ready_at, "owned_by": "ebb"}
    vllm = {
        "root": adapter or engine.model_name,
        "parent": engine.model_name if name != engine.model_name else None,
        "max_model_len": window,
    }
    anthropic = {
        "type": "model",
        "display_name": name,
        "created_at": datetime.fromtimestamp(host.ready_at, UTC).isoformat(),
        "lifecycle": "active",
        "max_input_tokens": window,
        "max_tokens": window,
    }
    return {**openai, **vllm, **anthropic, "status": model_status(entry)}


async def list_models(request: Request) -> Response:
    """List the models, their adapters, and the aliases of both, the default model first."""
    host = server_services(request).model.host
    default = host.require()
    engines = [default] if host.models is None else [each.backend for each in host.models]
    data = [_model(host, engine, name) for engine in engines for name in _names(host, engine)]
    page = {"has_more": False, "first_id": data[0]["id"], "last_id": data[-1]["id"]}
    return JSONResponse({"object": "list", "data": data, **page})


def _names(host: EngineHost, engine: Backend) -> list[str]:
    """List the names of a model, of its adapters, and then their aliases."""
    served = [engine.model_name, *host.adapter_names(engine)]
    return [*served, *(alias for name in served for alias in host.aliases.names_of(name))]


async def get_model(request: Request) -> Response:
    """Return a model or an adapter by its name or by an alias."""
    host = server_services(request).model.host
    name = request.path_params["name"]
    return JSONResponse(_model(host, host.require(name), name))


async def load_model(request: Request, fields: ModelChoice) -> Response:
    """Begin to load one of several models. `GET /v1/models` has its state."""
    host = server_services(request).model.host
    model = _entry(host, fields.model)
    if host.models is not None:
        host.models.begin_load(model)
    return JSONResponse({"success": True})


async def unload_model(request: Request, fields: ModelChoice) -> Response:
    """Unload one of several models once its answers have ended. `GET /v1/models` has its state."""
    host = server_services(request).model.host
    model = _entry(host, fields.model)
    if host.models is not None:
        host.models.begin_unload(model)
    return JSONResponse({"success": True})


def _entry(host: EngineHost, name: str) -> ServedModel:
    """Return one of several models. Raise as `EngineHost.require`, and NotFoundError if the server has only one."""
    host.require(name)
    model = host.find(name)
    if model is None:
        raise NotFoundError(
            "This server has one model, which stays loaded: list several with --models or --models-dir",
            param="model",
            code="one_model",
        )
    return model


operations = [
    Operation("GET", "/v1/models", list_models),
    Operation("GET", "/v1/models/{name:path}", get_model),
    Operation("POST", "/models/load", load_model, access="admin", needs_model=True, loads_model=False),
    Operation("POST", "/models/unload", unload_model, access="admin", needs_model=True, loads_model=False),
]
