"""Whether clients must show a key: on this machine once there was ever one, from anywhere else always."""

from typing import Literal

from app.config import Settings
from app.loopback import is_loopback
from app.storage.keys import count_keys

Demand = Literal["once made", "always", "never"]
"""once made: as soon as there was ever one, so that no revocation opens a server."""


def demand_of(settings: Settings) -> Demand:
    """What these settings ask for."""
    if settings.without_keys:
        return "never"
    return "once made" if is_loopback(settings.host) else "always"


def keys_required(settings: Settings) -> bool:
    """Whether a client must show a key now."""
    demand = demand_of(settings)
    return demand == "always" or (demand == "once made" and count_keys(settings.database).made > 0)


def why_not_to_serve(settings: Settings) -> str | None:
    """A sentence for who would open a server that nobody could use; None if there is nothing to say."""
    if demand_of(settings) != "always" or count_keys(settings.database).valid:
        return None
    return (
        f"--host {settings.host} is reached from other machines, which must show a key, and there is none: make one "
        "(ebb keys create NAME), or let everybody in (--without-keys)"
    )
