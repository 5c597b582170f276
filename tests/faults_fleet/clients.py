"""Clients of several servers that read one answer after the other, and reconnect wherever they can."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from app.domain.records import new_id
from tests.integration.sse_events import Event, events

AGAIN_SECONDS: Final = 0.05
SILENT_SECONDS: Final = 2.5
"""Time without a byte after which a client tries another server. A slow answer counts too: servers ping less often."""

TIDES = {"type": "array", "items": {"enum": ["spring tide", "neap tide"]}, "minItems": 30, "maxItems": 40}
WORDS = ["river", "lake", "sea", "tide", "boat", "moon", "shore", "wave", "storm", "harbour", "island", "current"]


@dataclass(slots=True)
class Client:
    """Place and pauses of one client, over all its answers.

    urls: returns the addresses of the servers that run now.
    home: number of the server at which each answer begins.
    seen_at: time of the last event.
    longest: longest time between two events of an answer since `reset`.
    num_again: number of connections that were opened again.
    """

    urls: Callable[[], Sequence[str]]
    home: int
    at: int = 0
    seen_at: float = 0.0
    longest: float = 0.0
    num_again: int = 0

    def reset(self) -> None:
        """Begin to measure."""
        self.longest = 0.0

    def begin(self) -> None:
        """Note that an answer begins, whose first event may take as long as its prompt."""
        self.seen_at, self.at = 0.0, self.home

    def see(self) -> None:
        """Note an event."""
        now = time.perf_counter()
        if self.seen_at:
            self.longest = max(self.longest, now - self.seen_at)
        self.seen_at = now

    def session(self) -> aiohttp.ClientSession:
        """Return a session at one server. Raise ConnectionError if none runs."""
        urls = self.urls()
        if not urls:
            raise ConnectionError
        timeout = aiohttp.ClientTimeout(total=None, sock_read=SILENT_SECONDS, sock_connect=SILENT_SECONDS)
        return aiohttp.ClientSession(urls[self.at % len(urls)], timeout=timeout)

    async def persist(self, attempt: Callable[[], Awaitable[bool]]) -> None:
        """Repeat `attempt` at one server after the other, until it returns True."""
        while True:
            try:
                if await attempt():
                    return
            except (aiohttp.ClientError, ConnectionError, TimeoutError):
                pass
            self.num_again += 1
            self.at += 1
            await asyncio.sleep(AGAIN_SECONDS)


class Question(ABC):
    """A question with one right answer."""

    @abstractmethod
    async def answer(self, client: Client) -> list[str]:
        """Ask, and read the whole answer, or all answers to the question."""


def prompt_of(num_words: int, salt: int) -> str:
    """Return a text of as many words, about one token each, that shares no block with that of another salt."""
    return f"Story {salt}: " + " ".join(
        WORDS[(salt * 7919 + at * at * 31 + at) % len(WORDS)] for at in range(num_words)
    )


def check_order(seen: int | None, event: Event) -> int:
    """Return the number of an event, which must be greater than that of the event before."""
    assert seen is None or event.number > seen, f"event {event.number} came after event {seen}"
    return event.number


async def checked(response: aiohttp.ClientResponse) -> bool:
    """Return whether the response is a stream. A server that starts or stops refuses, and the client comes again."""
    assert response.status in (200, 409, 503), await response.text()
    return response.status == 200


@dataclass(frozen=True)
class Chat(Question):
    """A message of a chat. The client follows its run by the ids of events."""

    content: str
    params: dict[str, Any]

    async def answer(self, client: Client) -> list[str]:
        """See Question."""
        return [await _ChatAnswer(self, client).read()]


@dataclass(slots=True)
class _ChatAnswer:
    question: Chat
    client: Client
    message_id: str = field(default_factory=lambda: new_id("msg"))
    conversation: str = ""
    run_id: str = ""
    last_event_id: str = ""
    text: str = ""
    whole: str | None = None

    async def read(self) -> str:
        await self.client.persist(self._created)
        self.client.begin()
        await self.client.persist(self._attempt)
        assert self.whole == self.text
        return self.text

    async def _created(self) -> bool:
        async with self.client.session() as session, session.post("/api/conversations", json={}) as made:
            if await checked_creation(made):
                self.conversation = (await made.json())["id"]
        return bool(self.conversation)

    async def _attempt(self) -> bool:
        async with self.client.session() as session:
            if self.run_id:
                headers = {"Last-Event-ID": self.last_event_id} if self.last_event_id else {}
                return await self._read(session.get(f"/api/runs/{self.run_id}/events", headers=headers))
            body = {"id": self.message_id, "content": self.question.content, "params": self.question.params}
            return await self._read(session.post(f"/api/conversations/{self.conversation}/messages", json=body))

    async def _read(self, call: "aiohttp.client._RequestContextManager") -> bool:
        async with call as response:
            if not await checked(response):
                return False
            self.run_id = self.run_id or response.headers["X-Run-Id"]
            async for event in events(response):
                self.client.see()
                self._take(event)
        return self.whole is not None

    def _take(self, event: Event) -> None:
        self.last_event_id = event.id or self.last_event_id
        match event.kind:
            case "delta":
                self.text += event.data["text"]
            case "snapshot":
                text = event.data["message"]["content"]
                assert text.startswith(self.text) or self.text.startswith(text), (self.text, text)
                self.text = text
            case "done":
                self.whole = event.data["message"]["content"]
            case "error":
                raise AssertionError(event.data)


async def checked_creation(response: aiohttp.ClientResponse) -> bool:
    """Return whether something was created."""
    assert response.status in (200, 201, 503), await response.text()
    return response.status != 503


@dataclass(frozen=True)
class Background(Question):
    """A response in the background. The client follows it by the numbers of events."""

    fields: dict[str, Any]

    async def answer(self, client: Client) -> list[str]:
        """See Question."""
        return [await _BackgroundAnswer(self, client).read()]


@dataclass(slots=True)
class _BackgroundAnswer:
    question: Background
    client: Client
    response_id: str = ""
    number: int | None = None
    pieces: list[str] = field(default_factory=list)
    whole: str | None = None

    async def read(self) -> str:
        self.client.begin()
        await self.client.persist(self._attempt)
        assert self.whole == "".join(self.pieces)
        return self.whole

    async def _attempt(self) -> bool:
        async with self.client.session() as session:
            if self.response_id:
                query = {"stream": "true"} | ({"starting_after": str(self.number)} if self.number is not None else {})
                return await self._read(session.get(f"/v1/responses/{self.response_id}", params=query))
            body = {"background": True, "stream": True, **self.question.fields}
            return await self._read(session.post("/v1/responses", json=body))

    async def _read(self, call: "aiohttp.client._RequestContextManager") -> bool:
        async with call as response:
            if not await checked(response):
                return False
            async for event in events(response):
                if event.kind == "error":
                    # The server stops; the response continues elsewhere.
                    return False
                self.client.see()
                self._take(event)
        return self.whole is not None

    def _take(self, event: Event) -> None:
        self.number = check_order(self.number, event)
        match event.kind:
            case "response.created":
                self.response_id = event.data["response"]["id"]
            case "response.output_text.delta" | "response.function_call_arguments.delta":
                self.pieces.append(event.data["delta"])
            case "response.completed" | "response.incomplete":
                self.whole = "".join(map(_said, event.data["response"]["output"]))
            case "response.failed":
                raise AssertionError(event.data)


def _said(item: dict[str, Any]) -> str:
    """Return the text or the arguments of an item of a response."""
    if item["type"] == "function_call":
        return str(item["arguments"])
    return "".join(part["text"] for part in item["content"])


@dataclass(frozen=True)
class Several(Question):
    """A chat completion of several answers, which belong to their connection. The client asks again if it breaks."""

    fields: dict[str, Any]

    async def answer(self, client: Client) -> list[str]:
        """See Question."""
        partial: list[list[str]] = []
        texts: list[str] = []

        async def attempt() -> bool:
            nonlocal texts
            texts = [""] * self.fields["n"]
            partial.append(texts)
            client.seen_at = 0.0
            num_ended = 0
            body = {"stream": True, **self.fields}
            async with client.session() as session, session.post("/v1/chat/completions", json=body) as response:
                if not await checked(response):
                    return False
                async for event in events(response):
                    if event.data == "[DONE]":
                        break
                    if "error" in event.data:
                        return False
                    client.see()
                    for choice in event.data["choices"]:
                        texts[choice["index"]] += choice["delta"].get("content") or ""
                        num_ended += choice["finish_reason"] is not None
            return num_ended == len(texts)

        client.begin()
        await client.persist(attempt)
        # The texts of broken connections were right as well.
        for broken in partial:
            assert all(whole.startswith(text) for whole, text in zip(texts, broken, strict=True))
        return texts


GREEDY: dict[str, Any] = {"temperature": 0, "max_tokens": 120, "ignore_eos": True}


def questions_of(model: str, lengths: Sequence[int]) -> dict[str, list[Question]]:
    """Return questions of each kind, one for each of `lengths`, in words."""
    seeded = {**GREEDY, "temperature": 0.9, "seed": 7}
    penalties = {**GREEDY, "frequency_penalty": 0.7, "presence_penalty": 0.2}
    form = {"format": {"type": "json_schema", "name": "tides", "schema": TIDES}}
    fields = {"type": "object", "properties": {"tides": TIDES}, "required": ["tides"], "additionalProperties": False}
    tool = {"type": "function", "name": "tides", "parameters": fields}
    plain = {"model": model, "temperature": 0, "max_output_tokens": 300}
    tools = {"tools": [tool], "tool_choice": {"type": "function", "name": "tides"}}
    several = {"model": model, "temperature": 0.9, "seed": 9, "n": 4, "max_tokens": 120, "ignore_eos": True}
    return {
        "greedy": [Chat(prompt_of(words, words), GREEDY) for words in lengths],
        "seeded": [Chat(prompt_of(words, words + 1), seeded) for words in lengths],
        "penalties": [Chat(prompt_of(words, words + 2), penalties) for words in lengths],
        "schema": [Background({**plain, "input": prompt_of(words, words + 3), "text": form}) for words in lengths],
        "tools": [Background({**plain, "input": prompt_of(words, words + 4), **tools}) for words in lengths],
        "n = 4": [
            Several({**several, "messages": [{"role": "user", "content": prompt_of(words, words + 5)}]})
            for words in lengths
        ],
    }
