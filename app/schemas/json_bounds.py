"""How much a JSON body may hold, counted before it is parsed.

Parsing is fast, but what it makes of four megabytes of `[],[],[],` holds the event loop for a third of a second, and to
check each of them takes longer still. Bytes are counted a hundred times as fast as values are made.
"""

from typing import Final

from app.limits import MAX_CONTAINERS, MAX_STRINGS, MAX_VALUES
from engine.errors import InvalidRequestError

UNCOUNTED_BYTES: Final = 128 << 10
"""A body that is no longer holds no more than the bounds allow, or nearly."""


def check_bounds(body: bytes) -> None:
    """Raises InvalidRequestError for one of too many lists and objects, strings, or values of any kind.

    What is no JSON may be counted wrongly; a parser stops where it begins to be none.
    """
    if len(body) <= UNCOUNTED_BYTES:
        return
    # Outside of strings valid JSON has no backslash, so the quotes that are left begin or end one.
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in body else body
    _check(plain.count(b'"') // 2, MAX_STRINGS, "strings")
    outside = b"".join(plain.split(b'"')[::2])
    containers = outside.count(b"[") + outside.count(b"{")
    _check(containers, MAX_CONTAINERS, "lists and objects")
    _check(containers + outside.count(b","), MAX_VALUES, "values")


def _check(count: int, most: int, what: str) -> None:
    if count > most:
        raise InvalidRequestError(f"The body holds {count} {what}; it may hold {most}", code="body_too_complex")
