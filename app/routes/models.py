"""GET /v1/models: the served model and its aliases, with the fields of OpenAI's, vLLM's and Anthropic's APIs."""

from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.host.engine_host import EngineHost
from app.http.operation import Operation
from app.services import server_services


def _model(host: EngineHost, name: str) -> dict[str, Any]:
    """Describe the model under its own name or under an alias."""
    engine = host.require()
    is_alias = name != engine.model_name
    openai = {"id": name, "object": "model", "created": host.ready_at, "owned_by": "ebb"}
    vllm = {
        "root": engine.model_name,
        "parent": engine.model_name if is_alias else None,
        "max_model_len": engine.max_model_len,
    }
    anthropic = {
        "type": "model",
        "display_name": name,
        "created_at": datetime.fromtimestamp(host.ready_at, UTC).isoformat(),
        "lifecycle": "active",
        "max_input_tokens": engine.max_model_len,
        "max_tokens": engine.max_model_len,
    }
    return {**openai, **vllm, **anthropic}


async def list_models(request: Request) -> Response:
    """List the one model that is served, and its aliases."""
    host = server_services(request).model.host
    served = host.require().model_name
    names = [served, *host.aliases.names_of(served)]
    page = {"has_more": False, "first_id": names[0], "last_id": names[-1]}
    return JSONResponse({"object": "list", "data": [_model(host, name) for name in names], **page})


async def get_model(request: Request) -> Response:
    """Return a model by its name or by an alias."""
    host = server_services(request).model.host
    name = request.path_params["name"]
    host.check_model(name)
    return JSONResponse(_model(host, name))


operations = [
    Operation("GET", "/v1/models", list_models),
    Operation("GET", "/v1/models/{name:path}", get_model),
]
