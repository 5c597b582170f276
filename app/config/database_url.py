"""The address of a PostgreSQL database, which may contain a password."""

from urllib.parse import urlsplit


def parse_database_url(text: str) -> str:
    """Return the address. Raise ValueError, without the text, which may contain a password."""
    if urlsplit(text).scheme not in ("postgresql", "postgres"):
        raise ValueError("must be postgresql://user@host/name")
    return text


def place_of(url: str) -> str:
    """Return the host and the database that an address names, for people."""
    parts = urlsplit(url)
    return f"{parts.hostname or 'this machine'}{parts.path}"
