"""/api/presets, /api/prompts and /api/files: what a tenant keeps under a name."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.records import new_id
from app.http.operation import Operation
from app.schemas.library import (
    KeptFile,
    KeptFileFields,
    KeptFiles,
    KeptFileText,
    Preset,
    PresetFields,
    Presets,
    SavedPrompt,
    SavedPromptFields,
    SavedPrompts,
    kept_file_body,
    preset_body,
    saved_prompt_body,
)
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


async def list_prompts(request: Request) -> Response:
    """List the saved prompts by name."""
    prompts = await services_of(request).store.saved_prompts.all()
    return JSONResponse(SavedPrompts(data=[saved_prompt_body(each) for each in prompts]))


async def save_prompt(request: Request, fields: SavedPromptFields) -> Response:
    """Save a prompt."""
    prompt = fields.prompt(new_id("prompt"))
    await services_of(request).store.saved_prompts.add(prompt)
    return JSONResponse(saved_prompt_body(prompt), 201)


async def replace_prompt(request: Request, fields: SavedPromptFields) -> Response:
    """Replace a saved prompt."""
    prompt = fields.prompt(request.path_params["id"])
    await services_of(request).store.saved_prompts.replace(prompt)
    return JSONResponse(saved_prompt_body(prompt))


async def delete_prompt(request: Request) -> Response:
    """Delete a saved prompt."""
    await services_of(request).store.saved_prompts.remove(request.path_params["id"])
    return Response(status_code=204)


async def list_files(request: Request) -> Response:
    """List the kept files without their texts, the newest first."""
    files = await services_of(request).store.kept_files.all()
    return JSONResponse(KeptFiles(data=[kept_file_body(each) for each in files]))


async def keep_file(request: Request, fields: KeptFileFields) -> Response:
    """Keep the text of a file, in place of the kept file of the same name."""
    return JSONResponse(kept_file_body(await services_of(request).store.kept_files.keep(fields.name, fields.text)), 201)


async def read_file(request: Request) -> Response:
    """Return a kept file with its text."""
    file, text = await services_of(request).store.kept_files.text(request.path_params["id"])
    body: KeptFileText = {**kept_file_body(file), "text": text}
    return JSONResponse(body)


async def delete_file(request: Request) -> Response:
    """Delete a kept file. Messages that it was attached to stay as they are."""
    await services_of(request).store.kept_files.remove(request.path_params["id"])
    return Response(status_code=204)


operations = [
    Operation("GET", "/api/presets", list_presets, answer=Presets),
    Operation("POST", "/api/presets", create_preset, answer=Preset, status=201),
    Operation("PUT", "/api/presets/{id}", replace_preset, answer=Preset),
    Operation("DELETE", "/api/presets/{id}", delete_preset, status=204),
    Operation("GET", "/api/prompts", list_prompts, answer=SavedPrompts),
    Operation("POST", "/api/prompts", save_prompt, answer=SavedPrompt, status=201),
    Operation("PUT", "/api/prompts/{id}", replace_prompt, answer=SavedPrompt),
    Operation("DELETE", "/api/prompts/{id}", delete_prompt, status=204),
    Operation("GET", "/api/files", list_files, answer=KeptFiles),
    Operation("POST", "/api/files", keep_file, answer=KeptFile, status=201, right="files"),
    Operation("GET", "/api/files/{id}", read_file, answer=KeptFileText),
    Operation("DELETE", "/api/files/{id}", delete_file, status=204),
]
