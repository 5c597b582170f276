"""Check of the settings that servers with common replicas need."""

from app.config.parsers import ON_RAY, is_loopback
from app.config.settings import Settings
from app.doctor.finding import Finding


def check_shared_replicas(settings: Settings) -> Finding:
    """Check that other servers can find the replicas, and that these have what they need without this server."""
    address = settings.shared_replicas
    if not address:
        return Finding("ok", "shared replicas", "off: other servers use replicas or engines of their own")
    advice = "see docs/guides/fleet.md"
    if not settings.database_url:
        return Finding("fail", "shared replicas", "servers find them in PostgreSQL", "add --database-url")
    if settings.redis_url == "auto":
        text = "the Redis that a server starts ends with it"
        return Finding("fail", "shared replicas", text, "name one with --redis-url, or use --redis-url off")
    if (address == ON_RAY) != bool(settings.ray_address):
        text = f"{ON_RAY} and --ray-address belong together"
        return Finding("fail", "shared replicas", text, "add the other one, or give an address of this machine")
    if settings.redis_url.startswith("unix:") and address != ON_RAY and not is_loopback(address):
        text = f"servers on other machines reach {address}, but not {settings.redis_url}"
        return Finding("warn", "shared replicas", text, advice)
    place = "on the Ray cluster" if address == ON_RAY else f"at {address}"
    return Finding("ok", "shared replicas", f"{settings.replicas} {place}, found in the database")
