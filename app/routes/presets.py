"""/api/presets: settings for chats that a tenant keeps under a name."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.records import new_id
from app.http.operation import Operation
from app.schemas.presets import PresetFields
from app.schemas.response_bodies.presets import Preset, Presets, preset_body
from app.services import services_of


async def list_presets(request: Request) -> Response:
    """List the presets by name."""
    presets = await services_of(request).store.presets.all()
    return JSONResponse(Presets(data=[preset_body(each) for each in presets]))


async def create_preset(request: Request, fields: PresetFields) -> Response:
    """Create a preset."""
    preset = fields.preset(new_id("preset"))
    await services_of(request).store.presets.add(preset)
    return JSONResponse(preset_body(preset), 201)


async def replace_preset(request: Request, fields: PresetFields) -> Response:
    """Replace a preset. Chats that were made with it keep their settings."""
    preset = fields.preset(request.path_params["id"])
    await services_of(request).store.presets.replace(preset)
    return JSONResponse(preset_body(preset))


async def delete_preset(request: Request) -> Response:
    """Delete a preset. Chats that were made with it keep their settings."""
    await services_of(request).store.presets.remove(request.path_params["id"])
    return Response(status_code=204)


operations = [
    Operation("GET", "/api/presets", list_presets, answer=Presets),
    Operation("POST", "/api/presets", create_preset, answer=Preset, status=201),
    Operation("PUT", "/api/presets/{id}", replace_preset, answer=Preset),
    Operation("DELETE", "/api/presets/{id}", delete_preset, status=204),
]
