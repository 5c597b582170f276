"""POST /v1/load_lora_adapter and /v1/unload_lora_adapter of vLLM's API, within the folder of --adapters-dir."""

import asyncio
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from app.http.media_types import PLAIN
from app.http.operation import Operation
from app.schemas.adapters import AdapterToLoad, AdapterToUnload
from app.services import server_services
from engine.api.errors import InvalidRequestError


async def load_adapter(request: Request, fields: AdapterToLoad) -> Response:
    """Load an adapter of the folder of adapters, now and at later starts. Requests may name it at once."""
    host = server_services(request).model.host
    engine, name = host.require(), fields.lora_name
    folder = engine.config.model.adapters_dir if host.models is None else None
    if fields.lora_path is not None and folder is not None and folder / fields.lora_path != folder / Path(name):
        raise InvalidRequestError(
            f"lora_path must be {name!r} or omitted: adapters are loaded from the folder of --adapters-dir only, by "
            "the names of their folders.",
            param="lora_path",
        )
    await engine.load_adapter(name, in_place=fields.load_inplace)
    await asyncio.to_thread(host.unloaded_adapters.remove, name)
    return PlainTextResponse(f"Success: LoRA adapter '{name}' added successfully.")


async def unload_adapter(request: Request, fields: AdapterToUnload) -> Response:
    """Refuse requests for an adapter, now and after later starts. Requests that run end as they would."""
    host = server_services(request).model.host
    engine, name = host.require(), fields.lora_name
    if name in engine.adapters:
        await asyncio.to_thread(host.unloaded_adapters.add, name)
    await engine.unload_adapter(name)
    return PlainTextResponse(f"Success: LoRA adapter '{name}' removed successfully.")


operations = [
    Operation("POST", path, endpoint, media=[PLAIN], access="admin", needs_model=True, loads_model=False)
    for path, endpoint in (("/v1/load_lora_adapter", load_adapter), ("/v1/unload_lora_adapter", unload_adapter))
]
