"""Access level required per path. Unlisted paths require a key, even if they have no route."""

from typing import Literal

from app.accounts.login_provider import CALLBACK_PATH, SAML_METADATA_PATH, SAML_PATH
from app.tenants.principal import Scope

Access = Literal["open"] | Scope

PROBES = frozenset({"/health", "/ready"})
"""Paths that are answered from memory, independently of the database."""

UNCOUNTED = frozenset({"/api/events"})
"""Paths of pages' streams. They have a bound of their own, and leave a tenant's limit to its requests."""

_LOGINS = frozenset(
    {
        "/api/login",
        "/api/login/password",
        "/api/login/start",
        "/api/logout",
        CALLBACK_PATH,
        SAML_PATH,
        SAML_METADATA_PATH,
    }
)
OPEN = frozenset({"/", "/live", "/admin"}) | PROBES | _LOGINS
OPEN_BELOW = ("/assets/", "/c/", "/share/", "/scim/")
ADMIN = frozenset({"/metrics", "/api/live"})
ADMIN_BELOW = "/api/admin/"


def access_of(path: str) -> Access:
    """Return the access level that `path` requires.

    The page and its files, links to chats, the API description, the probes, login and logout are open, and so is
    provisioning, which has a token of its own. Server-wide metrics and /api/admin require an admin key.
    """
    if path in OPEN or path.startswith(OPEN_BELOW) or _is_beside_page(path):
        return "open"
    return "admin" if path in ADMIN or path.startswith(ADMIN_BELOW) else "user"


def _is_beside_page(path: str) -> bool:
    """Return whether `path` is a top-level file such as /favicon.svg. No single-segment route of the API has a dot."""
    return path.count("/") == 1 and "." in path
