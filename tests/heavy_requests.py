"""Requests of one client that cost the server much: each kind of expensive input, about as large as it may be.

Each maker takes a number, which makes the input a new one: nothing kept for an earlier input shortens the work.
"""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from app.config.topics.place import DEFAULT_MODEL
from app.domain.bounds import MAX_MESSAGES, MAX_STOP_LENGTH, MAX_STOP_STRINGS
from tests.document_files import docx, docx_paragraph, zip_of
from tests.hostile_forms import alternatives
from tests.unit.costs.test_imports import chatgpt

Body = dict[str, Any]

MIB: Final = 1 << 20
PRIVATE: Final = "".join(map(chr, range(0xE000, 0xF900)))
"""Private characters, one of which stands for a control token in a text."""


@dataclass(frozen=True)
class HeavyRequest:
    """A request to `target`. head: lines besides those of every request."""

    target: str
    body: bytes = b""
    head: str = ""

    def message(self, key: str) -> bytes:
        """Return the bytes of the request, made with an API key."""
        method = "POST" if self.body else "GET"
        head = f"{method} {self.target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n{self.head}"
        return f"{head}Content-Length: {len(self.body)}\r\n\r\n".encode() + self.body


Maker = Callable[[int], HeavyRequest]


def _json(target: str, **body: Any) -> HeavyRequest:
    return HeavyRequest(target, json.dumps({"model": DEFAULT_MODEL} | body).encode())


def _chat(number: int, **fields: Any) -> HeavyRequest:
    said: Body = {"messages": [{"role": "user", "content": f"hi {number}"}], "max_tokens": 20}
    return _json("/v1/chat/completions", **said | fields)


def _messages(number: int) -> list[Body]:
    return [{"role": ("user", "assistant")[at % 2], "content": f"x {number}"} for at in range(MAX_MESSAGES - 1)]


def _tool(at: int) -> Body:
    properties = {f"p{each}": {"type": "string", "description": "where " * 10} for each in range(40)}
    parameters = {"type": "object", "properties": properties}
    return {"type": "function", "function": {"name": f"f{at}", "parameters": parameters}}


def _stops(number: int) -> list[str]:
    return [f"{'e' * at}{number}".ljust(MAX_STOP_LENGTH, "a") for at in range(MAX_STOP_STRINGS)]


def _many_chats(count: int, number: int) -> bytes:
    """Return a file of ChatGPT with `count` chats of two messages."""
    chat = chatgpt(2, "high water at six ")
    return json.dumps([chat | {"id": f"{number}-{at}"} for at in range(count)]).encode()


def _long_chat(number: int) -> bytes:
    """Return a file of ChatGPT with one chat."""
    return json.dumps([chatgpt(100_000, f"high water at {number}")]).encode()


PROMPTS: Final[Mapping[str, Maker]] = {
    "tokens of a text": lambda n: _json("/tokenize", prompt=f"{n} the sea " * 6_000),
    "tokens of private characters": lambda n: _json("/tokenize", prompt=f"<|im_start|>{n}{PRIVATE}" + "\ue000" * 8_000),
    "a text far too long": lambda n: _json("/v1/completions", prompt=f"x {n} " * 700_000, max_tokens=1),
    "tokens of messages": lambda n: _json("/v1/messages/count_tokens", messages=_messages(n)),
    "tokens of items": lambda n: _json("/v1/responses/input_tokens", input=_messages(n)),
}
HISTORIES: Final[Mapping[str, Maker]] = {
    "many messages": lambda n: _chat(n, messages=_messages(n)),
    "many items": lambda n: _json("/v1/responses", input=_messages(n), store=False),
    "messages of Ollama": lambda n: _json("/api/chat", messages=_messages(n), stream=False),
    "tools": lambda n: _chat(n, tools=[_tool(at) for at in range(128)]),
    "many containers": lambda n: _chat(n, metadata=[[]] * 16_000),
}
ANSWERS: Final[Mapping[str, Maker]] = {
    "a long prompt": lambda n: _chat(n, messages=[{"role": "user", "content": f"{n} the sea " * 1_500}]),
    "many prompts": lambda n: _json("/v1/completions", prompt=[f"{n} the sea " * 50] * 100, max_tokens=2),
    "many answers": lambda n: _chat(n, n=16, max_tokens=200, ignore_eos=True),
    "texts to embed": lambda n: _json("/v1/embeddings", input=[f"{n} the sea " * 20] * 500),
    "documents to rank": lambda n: _json("/v1/rerank", query="the sea", documents=[f"{n} the sea " * 20] * 500),
    "stop strings": lambda n: _chat(n, max_tokens=500, ignore_eos=True, stop=_stops(n)),
    "biased tokens": lambda n: _chat(n, max_tokens=500, ignore_eos=True, logit_bias={str(at): 1 for at in range(1024)}),
    "allowed tokens": lambda n: _chat(n, max_tokens=500, ignore_eos=True, allowed_token_ids=list(range(40_000))),
}
FORMS: Final[Mapping[str, Maker]] = {
    "a regex": lambda n: _chat(n, guided_regex=f"{n}(a|b)*a(a|b){{60}}"),
    "a regex of many parts": lambda n: _chat(n, guided_regex="&".join(f".*a.{{{count}}}{n}.*" for count in range(30))),
    "a grammar": lambda n: _chat(n, guided_grammar=f'start: a\na: {alternatives("abcdefghijklmnopqrst")} | "{n}"'),
    "a schema with patterns": lambda n: _chat(
        n, guided_json={"allOf": [{"type": "string", "pattern": f".*a.{{{at}}}{n}"} for at in range(7)]}
    ),
    "a schema of branches": lambda n: _chat(
        n,
        guided_json={
            "allOf": [{"anyOf": [{"properties": {f"k{at}": {"const": n + m}}} for m in range(4)]} for at in range(12)]
        },
    ),
    "required tools": lambda n: _chat(n, tools=[_tool(at) for at in range(9)], tool_choice="required"),
}
FILES: Final[Mapping[str, Maker]] = {
    "a docx file": lambda _: HeavyRequest("/api/document-text", docx(docx_paragraph("high water ") * 100_000)),
    "a zip bomb": lambda _: HeavyRequest(
        "/api/document-text", zip_of({"word/document.xml": "<a>" + " " * (100 * MIB)})
    ),
    "an HTML file": lambda _: HeavyRequest("/api/document-text?html=true", b"<div>" * 100_000 + b"<p>a</p>" * 100_000),
    "a packed body": lambda _: HeavyRequest(
        "/api/import/preview", gzip.compress(b" " * (60 * MIB)), "Content-Encoding: gzip\r\n"
    ),
    "a file of many chats": lambda n: HeavyRequest("/api/import/preview", _many_chats(40_000, n)),
    "a file of a long chat": lambda n: HeavyRequest("/api/import/preview", _long_chat(n)),
}
CHATS: Final[Mapping[str, Maker]] = {
    "an import": lambda n: HeavyRequest("/api/import", _many_chats(4_000, n)),
    "an export": lambda _: HeavyRequest("/api/export"),
    "a search of a common word": lambda _: HeavyRequest("/api/search?q=tide&limit=50"),
    "a search of a misspelt word": lambda n: HeavyRequest(f"/api/search?q=tdie{n}+mesage+bya"),
    "a large cookie": lambda n: HeavyRequest("/api/conversations", head=f"Cookie: {f'a{n}=; ' * 4_000}\r\n"),
}
"""Requests of a tenant that has many chats."""
