"""Clients of servers whose database breaks: chats in every phase, and streams that need no database."""

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from app.domain.records import new_id
from tests.faults_database.ledger import Chat, Ledger, Turn, now
from tests.integration.sse_events import Event, events

AGAIN_SECONDS: Final = 0.2
"""Pause before a refused request is repeated. The database is away for any length of time."""
PATIENCE_SECONDS: Final = 40.0
"""Time after which a client gives a request up. A server answers within 30 s."""
REFUSED: Final = (0, 503, 507)
"""Statuses after which a client tries again. 0 stands for a connection that broke."""
STREAM_TOKENS: Final = 1500

WORDS: Final = ("river", "lake", "sea", "tide", "boat", "moon", "shore", "wave")


class GoneError(Exception):
    """The server says that the chat or the run does not exist."""


@dataclass(slots=True)
class Scene:
    """The servers of clients, and what the clients have seen.

    urls: addresses of the servers.
    params: settings of each question.
    expected: the answers of undisturbed servers, by question.
    slowest: longest time that a request took to be answered, in seconds.
    """

    urls: Sequence[str]
    params: Mapping[str, Any]
    ledger: Ledger = field(default_factory=Ledger)
    expected: dict[str, str] = field(default_factory=dict)
    slowest: float = 0.0
    is_over: bool = False
    name: str = field(default_factory=lambda: new_id("scene"))


@dataclass(slots=True)
class Reply:
    """The status and the body of a response."""

    status: int
    body: Any


class Caller:
    """A client of one server after the other."""

    def __init__(self, scene: Scene, home: int) -> None:
        self.scene = scene
        self.at = home

    @property
    def url(self) -> str:
        return self.scene.urls[self.at % len(self.scene.urls)]

    async def call(self, method: str, path: str, body: Any = None) -> Reply:
        """Make a request. The status is 0 if no server answered."""
        began = time.monotonic()
        timeout = aiohttp.ClientTimeout(total=PATIENCE_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(self.url, timeout=timeout) as session,
                session.request(method, path, json=body) as response,
            ):
                text = await response.text()
                return Reply(response.status, json.loads(text) if text else None)
        except (aiohttp.ClientError, TimeoutError, OSError):
            self.at += 1
            return Reply(0, None)
        finally:
            self.saw(time.monotonic() - began)

    def saw(self, seconds: float) -> None:
        self.scene.slowest = max(self.scene.slowest, seconds)

    async def persist(
        self, method: str, path: str, body: Any = None, *, good: Sequence[int] = (200, 201, 204)
    ) -> Reply:
        """Repeat a request until it succeeds. Raise GoneError."""
        while (reply := await self.call(method, path, body)).status not in good:
            if reply.status == 404:
                raise GoneError(path)
            assert reply.status in (*REFUSED, 409), (path, reply)
            await asyncio.sleep(AGAIN_SECONDS)
        return reply


class Person(Caller):
    """A person with one chat after the other. Some chats are cancelled or deleted, in any phase."""

    def __init__(self, scene: Scene, number: int, source: random.Random) -> None:
        super().__init__(scene, number)
        self._number = number
        self._source = source
        self._count = 0

    async def live(self) -> None:
        """Chat until the scene is over."""
        while not self.scene.is_over:
            self._count += 1
            chat = self.scene.ledger.open(f"chat {self._number}-{self._count}-{self.scene.name}")
            try:
                await self.create(chat)
                for _ in range(self._source.randint(1, 3)):
                    await self.turn(chat, self._source.choice(("read", "read", "cancel", "delete", "leave")))
                    if chat.may_be_deleted or self.scene.is_over:
                        break
                if self._source.random() < 0.2 and not chat.may_be_deleted:
                    await self.delete(chat)
            except GoneError:
                pass

    async def create(self, chat: Chat) -> None:
        """Create the chat, with its own id, so that a repeated request creates it once."""
        chat_id = new_id("conv")
        await self.persist("POST", "/api/conversations", {"id": chat_id, "title": chat.title})
        chat.id, chat.created_at = chat_id, now()

    async def turn(self, chat: Chat, end: str) -> None:
        """Ask, and read the answer to its end, or cancel or leave it, or delete the chat."""
        turn = Turn(new_id("msg"))
        content = f"Tell me about the {WORDS[(self._number + len(chat.turns)) % len(WORDS)]}."
        is_first = not chat.turns
        chat.turns.append(turn)
        reader = Reader(self, chat, turn)
        reading = asyncio.create_task(reader.read(content, self.scene.expected.get(content) if is_first else None))
        try:
            if end != "read":
                await asyncio.wait({reading}, timeout=self._source.uniform(0.0, 1.5))
                await self._end(chat, turn, end, reading)
            await reading
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
        finally:
            reading.cancel()

    async def _end(self, chat: Chat, turn: Turn, end: str, reading: "asyncio.Task[None]") -> None:
        if end == "leave":
            if turn.run_id is not None:
                reading.cancel()
        elif end == "delete":
            await self.delete(chat)
            reading.cancel()
        elif turn.run_id is not None:
            await self.cancel(turn)

    async def cancel(self, turn: Turn) -> None:
        """Cancel the answer of a turn, at any server."""
        self.at += self._source.randint(0, 1)
        reply = await self.persist("POST", f"/api/runs/{turn.run_id}/cancel")
        turn.status, turn.cancelled_at = reply.body["status"], now()

    async def delete(self, chat: Chat) -> None:
        """Delete the chat."""
        chat.may_be_deleted = True
        await self.persist("DELETE", f"/api/conversations/{chat.id}")
        chat.deleted_at = now()

    async def try_all(self, chat: Chat) -> None:
        """Use each route of a chat once: ask in it, cancel the answer, and delete the chat."""
        turn = Turn(new_id("msg"))
        chat.turns.append(turn)
        body = {"id": turn.message_id, "content": "And now?", "params": self.scene.params}
        reading = asyncio.create_task(Reader(self, chat, turn).post(body))
        try:
            while turn.run_id is None:
                done, _ = await asyncio.wait({reading}, timeout=AGAIN_SECONDS)
                if done:
                    reading.result()
            await self.cancel(turn)
        finally:
            reading.cancel()
        await self.delete(chat)


class Reader:
    """Reader of one answer, across refusals and broken streams."""

    def __init__(self, caller: Caller, chat: Chat, turn: Turn) -> None:
        self._caller = caller
        self._chat = chat
        self._turn = turn
        self._text = ""
        self._last_id = ""
        self._is_over = False

    async def read(self, content: str, expected: str | None) -> None:
        """Ask, and read the answer to its end. Raise GoneError."""
        await self.post({"id": self._turn.message_id, "content": content, "params": dict(self._caller.scene.params)})
        if self._turn.told is None:
            return
        status, whole = self._turn.told
        is_whole = status not in ("cancelled", "failed")
        if whole != self._text or (is_whole and expected is not None and whole != expected):
            self._garbled(f"{whole[-60:]!r}, read as {self._text[-60:]!r}, expected {str(expected)[-60:]!r}")

    async def post(self, body: dict[str, Any]) -> None:
        """Post a question, and follow its run to the end."""
        while self._turn.run_id is None:
            await self._attempt("POST", f"/api/conversations/{self._chat.id}/messages", json=body)
        while not self._is_over:
            headers = {"Last-Event-ID": self._last_id} if self._last_id else {}
            await self._attempt("GET", f"/api/runs/{self._turn.run_id}/events", headers=headers)

    async def _attempt(self, method: str, path: str, **fields: Any) -> None:
        began, timeout = time.monotonic(), aiohttp.ClientTimeout(total=None, sock_read=PATIENCE_SECONDS)
        is_answered = False
        try:
            async with (
                aiohttp.ClientSession(self._caller.url, timeout=timeout) as session,
                session.request(method, path, **fields) as response,
            ):
                self._caller.saw(time.monotonic() - began)
                is_answered = True
                if response.status == 200:
                    self._begun(response.headers["X-Run-Id"])
                    async for event in events(response):
                        self._take(event)
                    return
                if response.status == 204:
                    self._is_over = True
                    return
                if response.status == 404:
                    raise GoneError(path)
                assert response.status in (*REFUSED, 409), (path, response.status, await response.text())
        except (aiohttp.ClientError, TimeoutError, OSError):
            self._caller.at += 1
            if not is_answered:
                self._caller.saw(time.monotonic() - began)
        await asyncio.sleep(AGAIN_SECONDS)

    def _begun(self, run_id: str) -> None:
        if self._turn.run_id is None:
            self._turn.run_id, self._turn.began_at = run_id, now()

    def _take(self, event: Event) -> None:
        self._last_id = event.id or self._last_id
        match event.kind:
            case "delta":
                self._text += event.data["text"]
            case "snapshot":
                text = event.data["message"]["content"]
                if not (text.startswith(self._text) or self._text.startswith(text)):
                    self._garbled(f"{text[-60:]!r} after {self._text[-60:]!r}")
                self._text = text
            case "done":
                self._is_over = True
                message = event.data["message"]
                self._turn.told, self._turn.ended_at = (message["status"], message["content"]), now()
            case "error":
                self._is_over = True

    def _garbled(self, how: str) -> None:
        self._caller.scene.ledger.garbled.append(f"{self._chat.title} {self._turn.run_id}: {how}")


class Streamer:
    """A client of completions, which need no database.

    longest: longest time between two pieces of a stream since `reset`, in seconds.
    """

    def __init__(self, url: str, model: str) -> None:
        self._url = url
        self._body = {
            "model": model,
            "messages": [{"role": "user", "content": "Count the waves."}],
            "stream": True,
            "max_tokens": STREAM_TOKENS,
            "ignore_eos": True,
        }
        self.longest = 0.0
        self.errors: list[str] = []
        self._seen_at = 0.0

    def reset(self) -> None:
        """Begin to measure."""
        self.longest = 0.0

    async def live(self) -> None:
        """Read one stream after the other, until cancelled."""
        while True:
            self._seen_at = 0.0
            timeout = aiohttp.ClientTimeout(total=None)
            async with (
                aiohttp.ClientSession(self._url, timeout=timeout) as session,
                session.post("/v1/chat/completions", json=self._body) as response,
            ):
                if response.status != 200:
                    self.errors.append(await response.text())
                    await asyncio.sleep(AGAIN_SECONDS)
                async for line in response.content:
                    self._see(line)

    def measured(self) -> float:
        """Return the longest time between two pieces, the one after the last piece too."""
        since = time.monotonic() - self._seen_at if self._seen_at else 0.0
        return max(self.longest, since)

    def _see(self, line: bytes) -> None:
        if line.startswith(b"data: [DONE]"):
            self._seen_at = 0.0
        elif line.startswith(b"data: "):
            seen = time.monotonic()
            if self._seen_at:
                self.longest = max(self.longest, seen - self._seen_at)
            self._seen_at = seen


async def undisturbed(scene: Scene, ask: Callable[[], Person]) -> None:
    """Learn the answers to all first questions."""
    for number in range(len(WORDS)):
        person = ask()
        chat = scene.ledger.open(f"undisturbed {number} {scene.name}")
        await person.create(chat)
        turn = Turn(new_id("msg"))
        chat.turns.append(turn)
        content = f"Tell me about the {WORDS[number]}."
        await Reader(person, chat, turn).read(content, None)
        assert turn.told is not None
        scene.expected[content] = turn.told[1]
