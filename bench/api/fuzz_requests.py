"""Valid, almost valid and hostile requests, as bytes, for every operation of the API's own document."""

import random
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, urlencode

from app.schemas.examples import CONVERSATION, MESSAGE, RESPONSE
from app.schemas.examples import MODEL as EXAMPLE_MODEL
from bench.api.fuzz_bodies import body_for
from engine.testing.replay_engine import MODEL

_IDS: Final = re.compile(rb"\b(?:conv|msg|run|resp)_[0-9a-f]{16,64}\b")
_KEPT: Final = 40
_HOSTILE_TEXT: Final = (
    "", "0", "-1", "1", "9" * 30, "true", "maybe", "\0", "é", "\U0001f30a", "%", "%zz", "..", "../..", "a/b",
    "' OR 1=1 --", "x" * 500,
    "W10", "bnVsbA", "WzEsMiwzXQ", "W2ZhbHNlLCAxZTMwOCwgImEiXQ", "NaN", "1e9", "msg_", "run_x:0.1", "*", "[]",
)  # fmt: skip
_METHODS: Final = ("PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "CONNECT", "BREW", "get", "GET", "POST")
_TAGS: Final = ("*", '"1"', 'W/"2"', '"0", "1", "2"', '"x"', "1", '"' + "9" * 30 + '"', ",,,", "\xff")


@dataclass(frozen=True, slots=True)
class Operation:
    """Operation of an OpenAPI document.

    query: names of the query parameters.
    examples: valid bodies; none if there is no body.
    """

    method: str
    path: str
    query: Sequence[str] = ()
    examples: Sequence[Any] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request.

    is_cut: a part of the request is never sent, so there may be no answer.
    """

    request: bytes
    is_cut: bool = False


WITHOUT_KEYS: Final = ("--without-keys",)
"""Flags of a server that stays open to its fuzzer when that creates a key."""

ENDLESS: Final = "/api/live"
"""Path of a stream that never ends, so no request is sent to it."""

LIMITS: Final = "/api/admin/tenants/{tenant}/limits"
"""Path whose requests may forbid everything else to the tenant of the fuzzer."""


def operations(document: Mapping[str, Any]) -> list[Operation]:
    """List the operations of an OpenAPI document whose answers end."""
    found = []
    for path, methods in document["paths"].items():
        for method, described in methods.items() if path != ENDLESS else ():
            query = [each["name"] for each in described.get("parameters", ()) if each["in"] == "query"]
            found.append(Operation(method.upper(), path, query, examples_of(document, described)))
    return found


def examples_of(document: Mapping[str, Any], operation: Mapping[str, Any]) -> Sequence[Any]:
    """Return the examples of an operation's JSON body; none without one."""
    schema = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    return document["components"]["schemas"][name].get("examples", ()) if name else ()


class RequestMaker:
    """Source of reproducible requests. A request depends only on the seed and on the answers, which provide ids."""

    def __init__(self, known: Sequence[Operation], seed: int) -> None:
        self._known = known
        self._random = random.Random(seed)
        self._ids = {kind: deque[str](maxlen=_KEPT) for kind in ("conv", "msg", "run", "resp")}

    def learn(self, answer: bytes) -> None:
        """Remember the ids in an answer."""
        for found in _IDS.findall(answer[:20_000]):
            name = found.decode()
            self._ids[name.partition("_")[0]].append(name)

    def make(self) -> Attempt:
        """Make a request. The side that is done first closes the connection."""
        source = self._random
        operation = source.choice(self._known)
        method = source.choice(_METHODS) if source.random() < 0.05 else operation.method
        target = self._path(operation.path) + self._query(operation.query)
        body = b""
        if operation.examples or source.random() < 0.05:
            ids = {CONVERSATION: self._id("conv"), MESSAGE: self._id("msg"), RESPONSE: self._id("resp")}
            body = body_for(operation.examples, source, {EXAMPLE_MODEL: MODEL, **ids})
        return self._written(method, target, body)

    def _path(self, pattern: str) -> str:
        def named(_: re.Match[str]) -> str:
            kind = "conv" if "/conversations/" in pattern else "msg" if "/messages/" in pattern else "resp"
            return quote(self._id("run" if "/runs/" in pattern else kind), safe="")

        # In the path of a conversation's item, the second id is a message's.
        return re.sub(r"{\w+}", named, pattern.replace("{item_id}", quote(self._id("msg"), safe="")))

    def _id(self, kind: str) -> str:
        source = self._random
        known = self._ids[kind]
        if known and source.random() < 0.8:
            return source.choice(known)
        return source.choice((f"{kind}_{'0' * 32}", source.choice(_HOSTILE_TEXT) or "-"))

    def _query(self, names: Sequence[str]) -> str:
        source = self._random
        chosen = [name for name in names if source.random() < 0.6]
        if source.random() < 0.03:
            chosen += ["include[]", "no_such", "limit"]
        pairs = [(name, source.choice((*_HOSTILE_TEXT, "5", "desc", "tide"))) for name in chosen]
        return "?" + urlencode(pairs) if pairs else ""

    def _written(self, method: str, target: str, body: bytes) -> Attempt:
        source = self._random
        lines = ["Host: localhost", "Connection: close"]
        if source.random() < 0.3:
            lines.append(
                "Content-Type: " + source.choice(("application/json", "text/plain", "multipart/form-data", "\xff"))
            )
        if source.random() < 0.15:
            lines.append(f"If-Match: {source.choice(_TAGS)}")
        if source.random() < 0.15:
            run = self._id("run")
            ids = (f"{run}:0.1", f"{run}:0.5", f"{run}:9.999", f"{run}:0.{'9' * 40}", "x:y.z", run)
            lines.append(f"Last-Event-ID: {source.choice(ids)}")
        if source.random() < 0.05:
            lines.append(source.choice(_ODD_LINES))
        kind = source.random()
        if kind < 0.05:
            head = _head(method, target, [*lines, "Transfer-Encoding: chunked"])
            return Attempt(head + _chunks(body, source), is_cut=True)
        if kind < 0.08:
            lines.append(f"Content-Length: {source.choice(('-1', 'x', '9' * 25, str(len(body) + 7), '0', '1, 2'))}")
        elif body or method != "GET":
            lines.append(f"Content-Length: {len(body)}")
        whole = _head(method, target, lines) + body
        if kind > 0.985:
            return Attempt(whole[: source.randrange(len(whole))], is_cut=True)
        return Attempt(whole, is_cut=kind < 0.08)


_ODD_LINES: Final = (
    "X-Request-Id: " + "a" * 300, "X-Request-Id: a b\x01", "Origin: http://evil.example", "Sec-Fetch-Site: cross-site",
    "Host: evil.example", "Expect: 100-continue", "Expect: 1", "Accept: x/y", "Accept-Encoding: br, zstd",
    "Upgrade: websocket", "Range: bytes=0-", "Content-Encoding: gzip", "Authorization: Bearer \xff", "No colon here",
    ": no name", "X-Long: " + "b" * 40_000, " folded", "Cookie: " + "c=d; " * 500,
    "\r\n".join(f"X-{n}: 1" for n in range(150)),
)  # fmt: skip


def _head(method: str, target: str, lines: Sequence[str]) -> bytes:
    return "\r\n".join((f"{method} {target} HTTP/1.1", *lines, "", "")).encode("latin-1", "replace")


def _chunks(body: bytes, source: random.Random) -> bytes:
    """Encode `body` in chunks, which may be cut short or have an invalid size."""
    half = len(body) // 2
    whole = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part) + b"0\r\n\r\n"
    match source.randrange(4):
        case 0:
            return whole[: source.randrange(len(whole))]
        case 1:
            return source.choice(
                (b"zz\r\n", b"-5\r\nabc\r\n", b"ffffffffffffffffff\r\n", b"5;" + b"x" * 9000 + b"\r\n")
            )
        case _:
            return whole
