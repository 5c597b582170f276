"""Reads a run as a browser does: to its end, whatever becomes of the connection or of the server meanwhile."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from app.ids import new_id
from tests.integration.sse_events import Event, events

AGAIN_SECONDS = 0.05
"""Between two attempts to come back. Not a synchronisation: how long a server is away is its own affair."""


@dataclass(slots=True)
class RunReader:
    """text: the answer as a person sees it now. resumed: how often the connection had to be made again.

    A snapshot that does not agree with the text before it, and an event that came before, are errors.
    """

    base_url: Callable[[], str | None]
    run_id: str = ""
    text: str = ""
    last: Event | None = None
    last_event_id: str = ""
    resumed: int = 0
    num_events: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, conversation_id: str, body: dict[str, Any]) -> None:
        """Start the run, once however often that takes, and read it to its end."""
        named = {"id": new_id("msg"), **body}
        while not self.run_id:
            try:
                await self._ask_once(conversation_id, named)
            except (aiohttp.ClientError, ConnectionError):
                await asyncio.sleep(AGAIN_SECONDS)
        await self.follow()

    async def _ask_once(self, conversation_id: str, body: dict[str, Any]) -> None:
        route = f"/api/conversations/{conversation_id}/messages"
        async with aiohttp.ClientSession(self._url()) as session, session.post(route, json=body) as response:
            assert response.status == 200, await response.text()
            self.run_id = response.headers["X-Run-Id"]
            await self._read(response)

    async def follow(self) -> None:
        """Come back until the event that ends the run was here."""
        while self.last is None:
            try:
                await self._follow_once()
            except (aiohttp.ClientError, ConnectionError):
                await asyncio.sleep(AGAIN_SECONDS)

    async def _follow_once(self) -> None:
        headers = {"Last-Event-ID": self.last_event_id} if self.last_event_id else {}
        route = f"/api/runs/{self.run_id}/events"
        async with aiohttp.ClientSession(self._url()) as session, session.get(route, headers=headers) as response:
            assert response.status == 200, await response.text()
            self.resumed += 1
            await self._read(response)

    def _url(self) -> str:
        if (url := self.base_url()) is None:
            raise ConnectionError
        return url

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        async for event in events(response):
            self._take(event)
            self.changed.set()

    def _take(self, event: Event) -> None:
        self.num_events += 1
        if event.id is not None:
            self.last_event_id = event.id
        match event.kind:
            case "delta":
                self.text += event.data["text"]
            case "snapshot":
                text = event.data["message"]["content"]
                assert text.startswith(self.text) or self.text.startswith(text), (self.text, text)
                self.text = text
            case "done" | "error":
                self.last = event

    async def until(self, num_characters: int) -> None:
        """Wait until so much of the answer was read, or all of it."""
        while len(self.text) < num_characters and self.last is None:
            self.changed.clear()
            await self.changed.wait()
