"""Bounds on the number of values in a JSON body, counted before it is parsed.

Parsing is fast, but making the values of four megabytes of `[],[],[],` holds the event loop for too long, and checking
each of them takes even longer. Bytes are counted much faster than values are made, and in pieces.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.domain.bounds import MAX_CONTAINERS, MAX_STRINGS, MAX_VALUES
from engine.api.errors import InvalidRequestError

UNCOUNTED_BYTES: Final = 128 << 10
"""Size up to which a body is not counted, since hardly any such body can exceed the bounds."""
PIECE_BYTES: Final = 256 << 10
"""Bytes that are counted between two moments at which other threads may run."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Maximum contents of a body. strings: including the names of fields. values: of any kind."""

    containers: int
    strings: int
    values: int


BODY_BOUNDS: Final = Bounds(MAX_CONTAINERS, MAX_STRINGS, MAX_VALUES)


def check_bounds(body: bytes, bounds: Bounds = BODY_BOUNDS) -> None:
    """Raise InvalidRequestError for a body of too many lists and objects, strings, or values of any kind.

    The count of a body that is not JSON may be wrong. A parser stops at the first place that is not JSON.
    """
    if len(body) <= UNCOUNTED_BYTES:
        return
    quotes = containers = commas = 0
    for piece in _pieces(body):
        # Outside of strings valid JSON has no backslash, so the quotes that are left begin or end one.
        plain = piece.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in piece else piece
        parts = plain.split(b'"')
        outside = b"".join(parts[quotes % 2 :: 2])
        quotes += len(parts) - 1
        containers += outside.count(b"[") + outside.count(b"{")
        commas += outside.count(b",")
        _check(quotes // 2, bounds.strings, "strings")
        _check(containers, bounds.containers, "lists and objects")
        _check(containers + commas, bounds.values, "values")


def _pieces(body: bytes) -> Iterator[bytes]:
    """Yield the body in pieces, none of which ends within an escape."""
    begin = 0
    while begin < len(body):
        end = min(begin + PIECE_BYTES, len(body))
        while end < len(body) and body[end - 1] == ord("\\"):
            end += 1
        yield body[begin:end]
        begin = end


def _check(count: int, most: int, things: str) -> None:
    if count > most:
        raise InvalidRequestError(
            f"The body contains {count} {things}; at most {most} are allowed", code="body_too_complex"
        )
