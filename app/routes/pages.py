"""The page and its files, as the web build left them in `app/static`."""

from contextlib import suppress
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent.parent / "static"

NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ebb</title>
<h1>Ebb is running, its page is not built</h1>
<p>Build it with <code>make setup</code> and load this page again. The API under <code>/v1</code> works without it.</p>
</html>
"""


class ImmutableFiles(StaticFiles):
    """Files whose names change with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be kept for a year."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    async def check_config(self) -> None:
        """A folder that is not there (yet) holds no files: that is a 404, not a fault."""


def page_routes(static: Path = STATIC) -> list[BaseRoute]:
    """Routes for the files in `static`; while it is empty, a page that says so."""

    async def index(_request: Request) -> Response:
        if (static / "index.html").is_file():
            return FileResponse(static / "index.html", headers={"Cache-Control": "no-cache"})
        return HTMLResponse(NOT_BUILT, headers={"Cache-Control": "no-cache"})

    async def beside_index(request: Request) -> Response:
        file = static / request.path_params["name"]
        with suppress(OSError):  # a name longer than the file system knows
            if file.is_file():
                return FileResponse(file, headers={"Cache-Control": "no-cache"})
        raise HTTPException(404)

    return [
        Route("/", index),
        Route("/c/{id}", index),
        Route("/live", index),
        Mount("/assets", ImmutableFiles(directory=static / "assets", check_dir=False)),
        Route("/{name}", beside_index),
    ]
