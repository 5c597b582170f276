"""/api/prompts: texts that a tenant keeps under a name, to begin messages with."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.records import new_id
from app.http.operation import Operation
from app.schemas.response_bodies.saved_prompts import SavedPrompt, SavedPrompts, saved_prompt_body
from app.schemas.saved_prompts import SavedPromptFields
from app.services import services_of


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


operations = [
    Operation("GET", "/api/prompts", list_prompts, answer=SavedPrompts),
    Operation("POST", "/api/prompts", save_prompt, answer=SavedPrompt, status=201),
    Operation("PUT", "/api/prompts/{id}", replace_prompt, answer=SavedPrompt),
    Operation("DELETE", "/api/prompts/{id}", delete_prompt, status=204),
]
