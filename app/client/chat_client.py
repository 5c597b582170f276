"""Client for conversations and runs, used by `ebb chat`."""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from app.load.sse import SSEParser
from engine.api.errors import EbbError

CONNECT_SECONDS = 5.0
HEALTH_SECONDS = 5.0
SILENCE_SECONDS = 60.0
"""Seconds of silence after which a stream is dead: the server pings every 5 s."""


class NoServerError(EbbError):
    """No server answers at the URL, or the server is not Ebb."""

    code = "no_server"


class RefusedError(EbbError):
    """The server answered with an error."""

    code = "refused"


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event: its kind (run, delta, done, error) and its data."""

    kind: str
    data: dict[str, Any]


class ChatClient:
    """One conversation at a time with the server at `url`. Use as an async context manager."""

    def __init__(self, url: str, api_key: str | None = None, tls: ssl.SSLContext | None = None) -> None:
        """Make a session for the server.

        tls: None trusts the system's authorities.
        """
        self.url = url
        headers = {"Authorization": f"Bearer {api_key}"} if api_key is not None else {}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)
        self._session = aiohttp.ClientSession(
            url, timeout=timeout, headers=headers, connector=aiohttp.TCPConnector(ssl=tls if tls is not None else True)
        )

    async def __aenter__(self) -> "ChatClient":
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._session.close()

    async def health(self) -> dict[str, Any]:
        """Get /health. Raise NoServerError."""
        try:
            async with self._session.get("/health", timeout=aiohttp.ClientTimeout(total=HEALTH_SECONDS)) as response:
                return dict(await response.json())
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise NoServerError(f"no server answers at {self.url} ({error or type(error).__name__})") from error

    @contextmanager
    def _unbroken(self) -> Iterator[None]:
        """Raise NoServerError if there is no connection, or if it breaks within the block."""
        try:
            yield
        except aiohttp.ClientConnectorError as error:
            raise NoServerError(f"no server answers at {self.url} ({error})") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise NoServerError(f"the connection to {self.url} broke ({error or type(error).__name__})") from error

    async def newest(self) -> dict[str, Any] | None:
        """Get the conversation that changed last, with its messages; None if there is none.

        Raise NoServerError, RefusedError.
        """
        with self._unbroken():
            async with self._session.get("/api/conversations") as response:
                await _refuse_errors(response)
                listed = (await response.json())["data"]
            if not listed:
                return None
            # Pinned conversations come first, however old they are.
            newest = max(listed, key=lambda each: each["updated_at"])
            async with self._session.get(f"/api/conversations/{newest['id']}") as response:
                await _refuse_errors(response)
                return dict(await response.json())

    async def create(self, system_prompt: str | None = None) -> str:
        """Create a conversation and return its id. Raise NoServerError, RefusedError."""
        with self._unbroken():
            async with self._session.post("/api/conversations", json={"system_prompt": system_prompt}) as response:
                await _refuse_errors(response)
                return str((await response.json())["id"])

    async def drain(self, replica: int) -> None:
        """Have a replica drained. Raise NoServerError, RefusedError."""
        with self._unbroken():
            async with self._session.post(f"/api/admin/replicas/{replica}/drain") as response:
                await _refuse_errors(response)

    async def live_sample(self) -> dict[str, Any]:
        """Get a new sample of the live figures. Raise NoServerError, RefusedError."""
        with self._unbroken():
            async with self._session.get("/api/live") as response:
                await _refuse_errors(response)
                asked_at = parsedate_to_datetime(response.headers["Date"]).timestamp()
                async for event in read_events(response.content.iter_any()):
                    # The stream begins with the samples of the last minutes.
                    if event.kind == "sample" and event.data["at"] >= asked_at:
                        return event.data
        raise NoServerError(f"{self.url} sent no live figures")

    async def send(self, conversation_id: str, content: str) -> AsyncGenerator[Event, None]:
        """Send `content` and yield the events of the answer. Cancelling also cancels the run on the server.

        Raise RefusedError, and NoServerError if the connection breaks.
        """
        path = f"/api/conversations/{conversation_id}/messages"
        request = asyncio.ensure_future(self._session.post(path, json={"content": content}).__aenter__())
        with self._unbroken():
            try:
                response = await asyncio.shield(request)
            except asyncio.CancelledError:
                # The server may have begun already, and only the response header names the run to cancel.
                response = await request
                await self._cancel(response)
                raise
            async with response:
                await _refuse_errors(response)
                try:
                    async for event in read_events(response.content.iter_any()):
                        yield event
                except asyncio.CancelledError:
                    await self._cancel(response)
                    raise

    async def _cancel(self, response: aiohttp.ClientResponse) -> None:
        run_id = response.headers.get("X-Run-Id")
        if run_id is not None:
            async with self._session.post(f"/api/runs/{run_id}/cancel") as cancelled:
                await cancelled.read()


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Yield the events of a text/event-stream body, regardless of chunk boundaries. Comments are skipped."""
    parser = SSEParser()
    async for chunk in chunks:
        for event in parser.feed(chunk):
            yield Event(event.event, json.loads(event.data))


async def _refuse_errors(response: aiohttp.ClientResponse) -> None:
    if response.status < 400:
        return
    try:
        message = str((await response.json())["error"]["message"])
    except (aiohttp.ContentTypeError, ValueError, KeyError, TypeError):
        message = f"the server answered {response.status} {response.reason}"
    raise RefusedError(message)
