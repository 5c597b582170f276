"""/api/presets: settings for chats that a tenant keeps under a name."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from app.domain.ids import new_id
from app.http.request_body import read_body
from app.schemas.presets import PresetFields
from app.schemas.response_bodies.presets import Presets, preset_body
from app.services import services_of


async def list_presets(request: Request) -> Response:
    """List the presets by name."""
    presets = await services_of(request).store.presets.all()
    return JSONResponse(Presets(data=[preset_body(each) for each in presets]))


async def create_preset(request: Request) -> Response:
    """Create a preset."""
    preset = (await read_body(request, PresetFields)).preset(new_id("preset"))
    await services_of(request).store.presets.add(preset)
    return JSONResponse(preset_body(preset), 201)


async def replace_preset(request: Request) -> Response:
    """Replace a preset. Chats that were made with it keep their settings."""
    preset = (await read_body(request, PresetFields)).preset(request.path_params["id"])
    await services_of(request).store.presets.replace(preset)
    return JSONResponse(preset_body(preset))


async def delete_preset(request: Request) -> Response:
    """Delete a preset. Chats that were made with it keep their settings."""
    await services_of(request).store.presets.remove(request.path_params["id"])
    return Response(status_code=204)


routes = [
    Route("/api/presets", list_presets),
    Route("/api/presets", create_preset, methods=["POST"]),
    Route("/api/presets/{id}", replace_preset, methods=["PUT"]),
    Route("/api/presets/{id}", delete_preset, methods=["DELETE"]),
]
