"""Page side of a conversation and a plain OpenAI client, which accept only correct answers."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Literal

import aiohttp

from app.client.chat_client import Event, read_events
from app.load.client import Message

STALL_SECONDS: Final = 60.0

Manner = Literal["listens", "comes back", "cancels"]


class NotAsExpectedError(Exception):
    """A wrong answer or behaviour of the server. Errors are counted by `kind`."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind


@dataclass(slots=True)
class Heard:
    """The part of a run received so far.

    last: sequence number of the last event.
    events: number of events.
    end: the "done" event, if received.
    """

    text: str = ""
    last: int = 0
    events: int = 0
    end: Event | None = None

    def take(self, event: Event) -> None:
        """Add an event. Raise NotAsExpectedError for an error event."""
        if event.kind == "error":
            raise NotAsExpectedError("error event", str(event.data.get("error")))
        self.events += 1
        self.last = int(event.data.get("sequence_number", self.last))
        if event.kind == "delta":
            self.text += event.data["text"]
        if event.kind == "done":
            self.end = event

    def whole(self) -> str:
        """Return the whole text.

        Raise NotAsExpectedError if the run has not ended, or if its text is empty or differs from the stored one.
        """
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
    """Client of one server on its own connections. All methods raise NotAsExpectedError.

    sampling: sampling parameters of every answer.
    """

    session: aiohttp.ClientSession
    sampling: Mapping[str, object] = field(default_factory=dict)

    async def begin(self, system: str) -> str:
        """Create a conversation and return its id."""
        async with self._asked("POST", "/api/conversations", {"system_prompt": system}) as response, in_time():
            return str((await response.json())["id"])

    async def delete(self, conversation: str) -> None:
        """Delete the conversation permanently."""
        async with self._asked("DELETE", f"/api/conversations/{conversation}?permanently=true"):
            pass

    async def say(self, conversation: str, content: str, manner: Manner = "listens", patience: int = 0) -> str:
        """Send a message and return the answer.

        patience: number of events after which the client disconnects or cancels, depending on `manner`.
        """
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
        """Act as the page does: cancel the run, read its end, and request another answer to the same question."""
        async with self._asked("POST", f"/api/runs/{run}/cancel") as cancelled, in_time():
            message = await cancelled.json()
        await _listen(events, heard)
        if heard.end is None:
            raise NotAsExpectedError("no last event", "of a cancelled run")
        again = Heard()
        async with self._asked("POST", f"/api/messages/{message['id']}/retry", {"params": self.sampling}) as response:
            await _listen(read_events(response.content.iter_any()), again)
        return again.whole()

    async def drop(self, model: str, messages: Sequence[Message], patience: int) -> None:
        """Ask through OpenAI's API and disconnect after `patience` lines, which cancels the request."""
        body = {"model": model, "messages": list(messages), "stream": True, "max_tokens": 200, "temperature": 0}
        async with self._asked("POST", "/v1/chat/completions", body) as response, in_time():
            for _ in range(patience):
                await response.content.readline()
            response.close()

    async def reserve(self, nbytes: int) -> None:
        """Reserve bytes of the disk for promises to the only tenant."""
        async with self._asked("PUT", "/api/admin/tenants/local/limits", {"kv_reserved": nbytes}), in_time():
            pass

    async def metrics(self) -> str:
        """Return the text of /metrics."""
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
    """Read until the run's last event, the end of the stream, or a total of `most` events."""
    while heard.end is None and (most is None or heard.events < most):
        async with in_time():
            event = await anext(events, None)
        if event is None:
            return
        heard.take(event)


@asynccontextmanager
async def in_time() -> AsyncIterator[None]:
    """Raise NotAsExpectedError if the block takes longer than STALL_SECONDS."""
    try:
        async with asyncio.timeout(STALL_SECONDS):
            yield
    except TimeoutError:
        raise NotAsExpectedError("stalled", f"nothing arrived for {STALL_SECONDS:g} s") from None
