"""/api/folders: places, inside each other, where a tenant collects conversations."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.records import new_id
from app.http.operation import Operation
from app.schemas.folders import Folder, FolderFields, Folders, folder_body
from app.services import services_of


async def list_folders(request: Request) -> Response:
    """List the folders by name, with the number of chats in each, and the tags of all chats."""
    store = services_of(request).store
    folders, contents = await store.folders.all(), await store.folders.contents()
    return JSONResponse(
        Folders(data=[folder_body(each) for each in folders], counts=contents.counts, tags=contents.tags)
    )


async def create_folder(request: Request, fields: FolderFields) -> Response:
    """Create a folder."""
    folder = fields.folder(new_id("folder"))
    services = services_of(request)
    await services.store.folders.add(folder)
    services.records.changes.announce(services.store.tenant)
    return JSONResponse(folder_body(folder), 201)


async def change_folder(request: Request, fields: FolderFields) -> Response:
    """Replace a folder: its name, its place and its system prompt."""
    folder = fields.folder(request.path_params["id"])
    services = services_of(request)
    await services.store.folders.replace(folder)
    services.records.changes.announce(services.store.tenant)
    return JSONResponse(folder_body(folder))


async def delete_folder(request: Request) -> Response:
    """Delete a folder. The folders and conversations in it move to where it was."""
    services = services_of(request)
    await services.store.folders.remove(request.path_params["id"])
    services.records.changes.announce(services.store.tenant)
    return Response(status_code=204)


operations = [
    Operation("GET", "/api/folders", list_folders, answer=Folders),
    Operation("POST", "/api/folders", create_folder, answer=Folder, status=201),
    Operation("PUT", "/api/folders/{id}", change_folder, answer=Folder),
    Operation("DELETE", "/api/folders/{id}", delete_folder, status=204),
]
