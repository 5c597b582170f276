"""What a path demands of who asks. Whatever is not named here demands a key, be there a route or not."""

from typing import Literal

from app.principal import Scope

Access = Literal["open"] | Scope

PROBES = frozenset({"/health", "/ready"})
"""Paths that are answered from memory, whatever the database does."""

OPEN = frozenset({"/", "/live", *PROBES, "/api/login", "/api/logout"})
OPEN_BELOW = ("/assets/", "/c/")
ADMIN = frozenset({"/metrics", "/api/live"})
ADMIN_BELOW = "/api/admin/"


def access_of(path: str) -> Access:
    """Open are the page and its files, the API's description, the probes, and the way in and out; the numbers
    of the whole server and /api/admin are an administrator's."""
    if path in OPEN or path.startswith(OPEN_BELOW) or _is_beside_page(path):
        return "open"
    return "admin" if path in ADMIN or path.startswith(ADMIN_BELOW) else "user"


def _is_beside_page(path: str) -> bool:
    """A file such as /favicon.svg: no route of the API has a dot in its one part."""
    return path.count("/") == 1 and "." in path
