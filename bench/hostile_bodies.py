"""Bodies that a server must refuse, for each generating route, and forms beyond what the server compiles."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.api.structured_output import FormKind
from tests.hostile_forms import BEYOND, WITHIN

_MESSAGES: Final = [{"role": "user", "content": "hi"}]
ROUTES: Final[Mapping[str, dict[str, Any]]] = {
    "/v1/chat/completions": {"messages": _MESSAGES, "max_tokens": 1},
    "/v1/completions": {"prompt": "hi", "max_tokens": 1},
    "/v1/responses": {"input": "hi", "max_output_tokens": 1},
    "/v1/messages": {"messages": _MESSAGES, "max_tokens": 1},
}
"""Routes, each with a valid body."""

_FIELDS: Final[Mapping[FormKind, str]] = {"json": "json", "regex": "regex", "lark": "grammar"}
"""Fields of `structured_outputs`. The server itself writes the forms of tool calls."""

_MARK: Final = "MARK"
_DEEP: Final = 10_000
_LARGE: Final = 10_000_000
_BELOW_LIMIT: Final = 4_100_000
"""Size of bodies that are read and parsed before they are refused."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request.

    what: name of the defect.
    must_fail: whether the status must be 4xx. Otherwise the request may also be answered.
    """

    what: str
    path: str
    body: bytes
    must_fail: bool = True


def attempts(model: str) -> Iterator[Attempt]:
    """Yield all requests. `model` is the name of the served model."""
    for path, good in ROUTES.items():
        for field, what, value in _bad_values(path):
            body = json.dumps({"model": model, **good, field: _MARK}).encode().replace(b'"MARK"', value)
            yield Attempt(f"{field}: {what}", path, body)
    [path, good], *_ = ROUTES.items()
    for must_fail, forms in ((True, [(kind, form) for kind, form, _ in BEYOND]), (False, WITHIN)):
        for kind, form in forms:
            if kind not in _FIELDS:
                continue
            body = json.dumps({"model": model, **good, "structured_outputs": {_FIELDS[kind]: form}}).encode()
            yield Attempt(f"{kind}: {str(form)[:40]!r}", path, body, must_fail)


def _bad_values(path: str) -> Iterator[tuple[str, str, bytes]]:
    """Yield each field, the defect of its value, and the value as bytes, some of which are not JSON."""
    said = next(name for name in ("messages", "prompt", "input") if name in ROUTES[path])
    limit = next(name for name in ("max_tokens", "max_output_tokens") if name in ROUTES[path])
    deep = b"[" * _DEEP + b"]" * _DEEP
    for name in ("temperature", "top_p", limit):
        for value in (b"NaN", b"-Infinity", b"1e309", b"1" + b"0" * 400, b'"1"', b"true", deep):
            yield name, value[:10].decode(), value
    yield limit, "-10**9", b"-1000000000"
    for name in ("model", said):
        yield name, "a lone surrogate", rb'"\ud800"' if name == "model" else rb'{"role": "user", "content": "\udfff"}'
        yield name, f"{_DEEP} deep", deep
        yield name, "an object", b"{}"
        yield name, "10 MB", b'"' + b"x" * _LARGE + b'"'
    for what, item in (("lists", b"[]"), ("objects", b'{"a":1}'), ("texts", b'""'), ("numbers", b"0.5")):
        yield said, f"4 MB of {what}", b"[" + b",".join([item] * (_BELOW_LIMIT // (len(item) + 1))) + b"]"
