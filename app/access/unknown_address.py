"""The page's own view for addresses that do not exist, in place of an API's error, for browsers only."""

from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import FileResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
