"""Rule for when clients must present a key or a login.

Locally once a key has been created; from other machines, and where people have accounts, always.
"""

from typing import Literal

from app.access.counted_keys import counted_keys
from app.config.parsers import is_loopback
from app.config.settings import Settings

AuthPolicy = Literal["once made", "always", "never"]
"""once made: required as soon as a key has ever been made, so that revoking the last key does not open the server."""


def auth_policy_of(settings: Settings) -> AuthPolicy:
    """Return the rule that these settings imply."""
    if settings.without_keys:
        return "never"
    return "once made" if is_loopback(settings.host) and not settings.has_accounts else "always"


def keys_required(settings: Settings) -> bool:
    """Return whether a client must present a key now."""
    auth_policy = auth_policy_of(settings)
    return auth_policy == "always" or (auth_policy == "once made" and counted_keys(settings).made > 0)


def why_not_to_serve(settings: Settings) -> str | None:
    """Return why a server under these settings could not be used by any client; None if it could."""
    if auth_policy_of(settings) != "always" or settings.has_accounts or counted_keys(settings).valid:
        return None
    return (
        f"--host {settings.host} is reachable from other machines, whose requests require a key, and no key "
        "exists: create one (ebb keys create NAME), or serve every client without a key (--without-keys)"
    )
