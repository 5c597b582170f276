"""The web page and its files, as the web build left them in `app/static`."""

import os
from contextlib import suppress
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.operation import Operation

STATIC = Path(__file__).parent.parent / "static"

OLLAMA_IS_RUNNING = "Ollama is running"

NOT_BUILT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Ebb</title>
<h1>Ebb is running, but its page is not built</h1>
<p>Build it with <code>make setup</code> and load this page again. The API under <code>/v1</code> works without it.</p>
</html>
"""


PREVIEW_HEADERS = {
    # A separate origin, that no address has: no cookies, no storage, no access to the page.
    "Content-Security-Policy": (
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src data: blob:; font-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
    "X-DNS-Prefetch-Control": "off",
    "Cache-Control": "no-cache",
}
"""Headers of the document that runs code of answers. The policy applies to everything that the page writes into it."""


class ImmutableFiles(StaticFiles):
    """Static files whose names change with their content."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return the file with a cache lifetime of one year."""
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Return the file, or the compressed copy that the web build made if the browser accepts gzip."""
        compressed = f"{os.fspath(full_path)}.gz"
        if not _accepts_gzip(Headers(scope=scope)) or not os.path.isfile(compressed):
            return super().file_response(full_path, stat_result, scope, status_code)
        # The media type stays that of the original: Starlette guesses it for "x.js.gz" from "x.js".
        response = super().file_response(compressed, os.stat(compressed), scope, status_code)
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
        return response

    async def check_config(self) -> None:
        """Accept a folder that does not exist (yet), so that a request for its files gets a 404 instead of an error."""


def _accepts_gzip(headers: Headers) -> bool:
    offers = (offer.split(";") for offer in headers.get("accept-encoding", "").lower().split(","))
    return any(name.strip() == "gzip" and "q=0" not in map(str.strip, more) for name, *more in offers)


def page_operations(static: Path = STATIC, ollama_port: int | None = None) -> list[Operation]:
    """Build the operations of the page's views. While the page is not built, `/` explains how to build it.

    ollama_port: port at which `/` answers in Ollama's words, by which its clients recognize it.
    """

    async def index(_request: Request) -> Response:
        if (static / "index.html").is_file():
            return FileResponse(static / "index.html", headers={"Cache-Control": "no-cache"})
        return HTMLResponse(NOT_BUILT, headers={"Cache-Control": "no-cache"})

    async def root(request: Request) -> Response:
        server = request.scope.get("server")
        if ollama_port is not None and server is not None and server[1] == ollama_port:
            return PlainTextResponse(OLLAMA_IS_RUNNING)
        return await index(request)

    async def preview(_request: Request) -> Response:
        file = static / "preview.html"
        if not file.is_file():
            raise HTTPException(404)
        return FileResponse(file, headers=PREVIEW_HEADERS)

    return [
        Operation("GET", "/", root, access="open"),
        Operation("GET", "/c/{id}", index, access="open"),
        Operation("GET", "/live", index, access="open"),
        Operation("GET", "/admin", index, access="open"),
        Operation("GET", "/preview.html", preview, access="open"),
    ]


def file_routes(static: Path = STATIC) -> list[BaseRoute]:
    """Build the routes of the page's files."""

    async def file_of_page(request: Request) -> Response:
        file = static / request.path_params["name"]
        with suppress(OSError):  # a name longer than the file system allows
            if file.is_file():
                return FileResponse(file, headers={"Cache-Control": "no-cache"})
        raise HTTPException(404)

    return [
        Mount("/assets", ImmutableFiles(directory=static / "assets", check_dir=False)),
        Route("/{name}", file_of_page),
    ]


def is_page_file(path: str) -> bool:
    """Return whether `path` is that of a file of the page, such as /favicon.svg.

    No path of the API that has a single segment has a dot.
    """
    return path.startswith("/assets/") or (path.count("/") == 1 and "." in path)


OTHERS_BELOW = ("/api/", "/v1/", "/assets/", "/share/")
"""Addresses that answer browsers themselves. A link to a chat leads to a page without scripts, even if it is gone."""
REPLACED = (401, 404)
"""Statuses of addresses without a page. 401: an unknown address needs a key, as every address that is not open."""


class UnknownAddress:
    """Middleware that answers a browser's navigation to no page with the page itself, and with status 404."""

    def __init__(self, app: ASGIApp, index: Path) -> None:
        """Wrap `app`.

        index: HTML file of the page, which need not exist.
        """
        self._app = app
        self._index = index

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and replace the answer if it has no page (ASGI)."""
        if not self._is_navigation(scope):
            await self._app(scope, receive, send)
            return
        is_replaced = False

        async def send_kept(message: Message) -> None:
            nonlocal is_replaced
            if message["type"] == "http.response.start":
                is_replaced = message["status"] in REPLACED and self._index.is_file()
            if not is_replaced:
                await send(message)

        await self._app(scope, receive, send_kept)
        if is_replaced:
            page = FileResponse(self._index, 404, headers={"Cache-Control": "no-cache"})
            await page(scope, receive, send)

    def _is_navigation(self, scope: Scope) -> bool:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].startswith(OTHERS_BELOW):
            return False
        headers = Headers(scope=scope)
        # A browser names HTML first. Clients of an API accept JSON or anything.
        accepts_page = headers.get("accept", "").startswith("text/html")
        return accepts_page and headers.get("sec-fetch-mode", "navigate") == "navigate"
