"""/api/files: the texts of files that a tenant keeps, to attach them to messages again."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.http.operation import Operation
from app.schemas.kept_files import KeptFileFields
from app.schemas.response_bodies.kept_files import KeptFile, KeptFiles, KeptFileText, kept_file_body
from app.services import services_of


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
    Operation("GET", "/api/files", list_files, answer=KeptFiles),
    Operation("POST", "/api/files", keep_file, answer=KeptFile, status=201, right="files"),
    Operation("GET", "/api/files/{id}", read_file, answer=KeptFileText),
    Operation("DELETE", "/api/files/{id}", delete_file, status=204),
]
