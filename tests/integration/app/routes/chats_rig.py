"""A server in a synchronous test of many steps, whose requests need neither a socket nor an HTTP client."""

import asyncio
import json
from collections.abc import Coroutine, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from app.services import Services
from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer, running_server

T = TypeVar("T")

WAIT_SECONDS = 10


class Refusal(NamedTuple):
    """Error of a request. param: None if the error names no field."""

    status: int
    code: str
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """Response of the server. body: None unless it is JSON."""

    status: int
    body: Any

    @property
    def refusal(self) -> Refusal | None:
        """The error, or None if the request succeeded."""
        if self.status < 400:
            return None
        error = self.body["error"]
        return Refusal(self.status, error["code"], error["param"])


@dataclass(frozen=True, slots=True)
class ChatsRig:
    """A server in the test's own event loop."""

    runner: asyncio.Runner
    server: RunningServer[ReplayEngine]

    @property
    def engine(self) -> ReplayEngine:
        """The engine of the server."""
        return self.server.engine

    @property
    def services(self) -> Services:
        """The services of the server."""
        return self.server.services

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run the loop until `work` is done."""
        return self.runner.run(asyncio.wait_for(work, WAIT_SECONDS))

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> Reply:
        """Send a request under /api, and return the response after its last event."""
        return self.wait(self._exchange(method, f"/api{path}", b"" if body is None else json.dumps(body).encode()))

    def read(self, path: str) -> Any:
        """Return the JSON of a path under /api."""
        reply = self.call("GET", path)
        assert reply.refusal is None
        return reply.body

    async def _exchange(self, method: str, target: str, body: bytes) -> Reply:
        path, _, query = target.partition("?")
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "scheme": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 50_000),
            "server": ("localhost", 80),
        }
        sent = [{"type": "http.request", "body": body, "more_body": False}]
        got = list[MutableMapping[str, Any]]()
        ended = asyncio.Event()

        async def receive() -> MutableMapping[str, Any]:
            if not sent:
                await ended.wait()
            return sent.pop() if sent else {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            got.append(message)

        await self.server.app(scope, receive, send)
        ended.set()
        start, *rest = got
        is_json = dict(start["headers"]).get(b"content-type", b"").startswith(b"application/json")
        answer = b"".join(message.get("body", b"") for message in rest)
        return Reply(start["status"], json.loads(answer) if is_json else None)


@contextmanager
def chats_rig(folder: Path) -> Iterator[ChatsRig]:
    """Serve until the block ends, with conversations in `folder` and an engine that needs no model."""
    with asyncio.Runner() as runner:
        serving = running_server(folder, ReplayEngine())
        server = runner.run(serving.__aenter__())
        try:
            yield ChatsRig(runner, server)
        finally:
            runner.run(serving.__aexit__(None, None, None))
