"""Models that requests of Ollama's API load, unload and keep in memory."""

from typing import Literal

from starlette.responses import JSONResponse, Response

from app.apis.ollama.model_name import untagged
from app.apis.ollama.request import OllamaRequest
from app.apis.ollama.serializer import OllamaShape
from app.host.engine_host import EngineHost


async def without_prompt(host: EngineHost, fields: OllamaRequest, shape: OllamaShape) -> Response:
    """Load or unload one of several models, as a request without a prompt asks. A single model stays as it is."""
    model = host.find(untagged(host, fields.model))
    reason: Literal["load", "unload"] = "load"
    if model is not None and host.models is not None:
        if fields.only_unloads:
            reason = "unload"
        else:
            await host.models.ready(model, host.models.patience(fields.timeout))
        keep_alive(host, fields.model, fields.keep_alive)
    return JSONResponse(shape.without_prompt(reason))


def keep_alive(host: EngineHost, name: str, wanted: float | str | None) -> None:
    """Apply the `keep_alive` of a request to the model that it names, once the engine has accepted the request."""
    model = host.find(untagged(host, name))
    if host.models is not None and model is not None and wanted is not None:
        host.models.set_keep_alive(model, float(wanted))
