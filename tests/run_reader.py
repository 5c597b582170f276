"""A client that reads a run to its end as a browser does, across broken connections and restarts of the server."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from app.domain.records import new_id
from tests.integration.sse_events import Event, events

AGAIN_SECONDS = 0.05
"""Pause between two attempts to reconnect. Not a synchronization: a server may be down for any length of time."""


@dataclass(slots=True)
class RunReader:
    """Reader of one run.

    A snapshot that contradicts the text read so far raises AssertionError, and so does an event out of order. A
    repeated delta would also show up in the text.

    base_url: returns the server's base URL; None while the server is down.
    text: the answer as a user sees it now.
    last: the event that ended the run; None before.
    number: of the last event, or of the snapshot that took its place.
    resumed: number of times that the connection was reopened.
    """

    base_url: Callable[[], str | None]
    run_id: str = ""
    text: str = ""
    last: Event | None = None
    last_event_id: str = ""
    number: int = 0
    resumed: int = 0
    num_events: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self, conversation_id: str, body: dict[str, Any]) -> None:
        """Start the run and read it to its end.

        Every attempt sends the same message id, so that retries do not start a second run.
        """
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
        """Reconnect until the event that ends the run has arrived."""
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
            assert event.kind == "snapshot" or event.number > self.number, (event, self.number)
            self.number = event.number
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
        """Wait until `num_characters` of the answer have been read, or until the run has ended."""
        while len(self.text) < num_characters and self.last is None:
            self.changed.clear()
            await self.changed.wait()
