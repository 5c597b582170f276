"""Proxy in front of the server that keeps the body of each request, and gives it the id by which the server logs it."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import aiohttp
from aiohttp import web

MAX_BODY: Final = 64 << 20
_HOP_BY_HOP: Final = frozenset({"connection", "content-length", "host", "keep-alive", "transfer-encoding"})


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request of a client.

    body: the JSON object in the body; empty if there is none.
    status: status of the response; 0 if the server ended before it.
    """

    request_id: str
    path: str
    body: Mapping[str, Any]
    status: int


class Recorder:
    """Proxy that forwards every request to `target` and passes the response through as it comes."""

    def __init__(self, target: str, change: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None) -> None:
        """Change the JSON object in the body of each request by `change`, or none."""
        self._target = target
        self._change = change
        self._ids = count(1)
        self._recorded: list[Recorded] = []
        self._runner: web.AppRunner | None = None
        self._session: aiohttp.ClientSession | None = None
        self.url = ""

    async def __aenter__(self) -> Self:
        # A connection that outlived a killed server would fail the next request, so each request has its own.
        connector = aiohttp.TCPConnector(force_close=True)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None)
        )
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._forward)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        assert self._session is not None
        await self._runner.cleanup()
        await self._session.close()

    def take(self) -> list[Recorded]:
        """Return the requests that ended since the last call."""
        taken, self._recorded = self._recorded, []
        return taken

    async def _forward(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        body, request_id, status = await request.read(), f"agent-{next(self._ids)}", 0
        asked = _object(body)
        if self._change is not None and asked:
            body = json.dumps(self._change(asked)).encode()
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP_BY_HOP}
        try:
            async with self._session.request(
                request.method,
                f"{self._target}{request.raw_path}",
                headers={**headers, "X-Request-Id": request_id},
                data=body,
                allow_redirects=False,
            ) as answer:
                status = answer.status
                kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
                response = web.StreamResponse(status=status, headers=kept)
                # A client may leave as soon as it has the end of an answer.
                with suppress(ConnectionResetError):
                    await response.prepare(request)
                    async for piece in answer.content.iter_any():
                        await response.write(piece)
                    await response.write_eof()
                return response
        finally:
            self._recorded.append(Recorded(request_id, request.path, asked, status))


def write_bodies(requests: list[Recorded], folder: Path) -> None:
    """Write each body to a file in `folder`, for a look at the difference between two turns."""
    folder.mkdir(parents=True, exist_ok=True)
    for each in requests:
        name = f"{each.request_id}{each.path.replace('/', '-')}-{each.status}.json"
        (folder / name).write_text(json.dumps(each.body, indent=1, ensure_ascii=False), encoding="utf-8")


def _object(body: bytes) -> Mapping[str, Any]:
    with suppress(ValueError):
        value = json.loads(body)
        if isinstance(value, dict):
            return value
    return {}
