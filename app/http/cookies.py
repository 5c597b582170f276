"""Cookies of the server itself, read from a request's Cookie header in linear time."""

from typing import Final

MAX_VALUE_LENGTH: Final = 4096
"""Characters of a value. The server's own cookies are shorter, and browsers keep no longer ones (RFC 6265, 6.1)."""


def cookie_of(header: str, name: str) -> str | None:
    """Return the value of the last cookie called `name`; None without one, or if its value is too long.

    header: the Cookie header (RFC 6265, 4.2.1). Values are taken as they are: the server quotes none of those it sets.
    """
    found = None
    for pair in header.split(";"):
        key, _, value = pair.partition("=")
        if key.strip() == name:
            found = value.strip()
    return found if found is not None and len(found) <= MAX_VALUE_LENGTH else None
