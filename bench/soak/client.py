"""The page's side of a conversation and a plain OpenAI client, which take nothing but what a server should answer."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

import aiohttp

from app.chat_client import Event, read_events
from app.load.client import Message

STALL_SECONDS: Final = 60.0

Manner = Literal["listens", "comes back", "cancels"]


class NotAsExpectedError(Exception):
    """A client error. `kind`: what it is counted as."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


@dataclass(slots=True)
class Heard:
    """What came of a run until now. last: the number of its last event."""

    text: str = ""
    last: int = 0
    events: int = 0
    end: Event | None = None

    def take(self, event: Event) -> None:
        """One more. Raises NotAsExpectedError for an error."""
        if event.kind == "error":
            raise NotAsExpectedError("error event", str(event.data.get("error")))
        self.events += 1
        self.last = int(event.data.get("sequence_number", self.last))
        if event.kind == "delta":
            self.text += event.data["text"]
        if event.kind == "done":
            self.end = event

    def whole(self) -> str:
        """The text. Raises NotAsExpectedError if it did not end, is empty, or is not what was stored."""
        if self.end is None:
            raise NotAsExpectedError("no last event", f"after {self.events} events")
        if not self.text:
            raise NotAsExpectedError("empty answer", str(self.end.data))
        stored = self.end.data["message"]["content"]
        if stored != self.text:
            raise NotAsExpectedError("another text stored", f"{stored!r} and not {self.text!r}")
        return self.text


@dataclass(frozen=True, slots=True)
class SoakClient:
    """Speaks with one server on connections that nobody else uses. sampling: parameters of every answer."""

    session: aiohttp.ClientSession
    sampling: Mapping[str, object] = field(default_factory=dict)

    async def begin(self, system: str) -> str:
        """A new conversation; returns its id. All of this raises NotAsExpectedError."""
        async with self._asked("POST", "/api/conversations", {"system_prompt": system}) as response, in_time():
            return str((await response.json())["id"])

    async def delete(self, conversation: str) -> None:
        """It is not needed any more."""
        async with self._asked("DELETE", f"/api/conversations/{conversation}?permanently=true"):
            pass

    async def say(self, conversation: str, content: str, manner: Manner = "listens", patience: int = 0) -> str:
        """One turn; returns the answer. patience: events until a client comes back or cancels."""
        heard = Heard()
        body = {"content": content, "params": self.sampling}
        async with self._asked("POST", f"/api/conversations/{conversation}/messages", body) as response:
            run, events = response.headers["X-Run-Id"], read_events(response.content.iter_any())
            await _listen(events, heard, None if manner == "listens" else patience)
            if manner == "cancels":
                return await self._cancel_and_retry(run, events, heard)
        if heard.end is None and manner == "comes back":
            async with self._asked("GET", f"/api/runs/{run}/events?starting_after={heard.last}") as response:
                await _listen(read_events(response.content.iter_any()), heard)
        return heard.whole()

    async def _cancel_and_retry(self, run: str, events: AsyncIterator[Event], heard: Heard) -> str:
        """What the page does: stop it, see the end of it, and ask for another answer to the same question."""
        async with self._asked("POST", f"/api/runs/{run}/cancel") as cancelled, in_time():
            message = await cancelled.json()
        await _listen(events, heard)
        if heard.end is None:
            raise NotAsExpectedError("no last event", "of a run that was cancelled")
        again = Heard()
        async with self._asked("POST", f"/api/messages/{message['id']}/retry", {"params": self.sampling}) as response:
            await _listen(read_events(response.content.iter_any()), again)
        return again.whole()

    async def drop(self, model: str, messages: Sequence[Message], patience: int) -> None:
        """Ask through OpenAI's API, and go away after some lines, which cancels."""
        body = {"model": model, "messages": list(messages), "stream": True, "max_tokens": 200, "temperature": 0}
        async with self._asked("POST", "/v1/chat/completions", body) as response, in_time():
            for _ in range(patience):
                await response.content.readline()
            response.close()

    async def metrics(self) -> str:
        """The text of /metrics."""
        async with self._asked("GET", "/metrics") as response, in_time():
            return await response.text()

    @asynccontextmanager
    async def _asked(self, method: str, path: str, body: object = None) -> AsyncIterator[aiohttp.ClientResponse]:
        async with in_time():
            response = await self.session.request(method, path, json=body)
        async with response:
            if response.status >= 400:
                async with in_time():
                    raise NotAsExpectedError(f"HTTP {response.status}", await response.text())
            yield response


async def _listen(events: AsyncIterator[Event], heard: Heard, most: int | None = None) -> None:
    """Until the run's last event, the end of the stream, or `most` events of it in all."""
    while heard.end is None and (most is None or heard.events < most):
        async with in_time():
            event = await anext(events, None)
        if event is None:
            return
        heard.take(event)


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """What takes longer than STALL_SECONDS has stalled."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            yield
    except TimeoutError:
        raise NotAsExpectedError("stalled", f"nothing came for {STALL_SECONDS:g} s") from None
