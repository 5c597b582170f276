"""Origins of pages, as browsers write them."""

from urllib.parse import urlsplit


def parse_origins(text: str) -> tuple[str, ...]:
    """Split `https://chat.example,http://localhost:3000` into its parts, each exactly as a browser sends it.

    Raise ValueError for a part that no browser sends: a wildcard, a path, "null", capital letters, a default port.
    """
    origins = tuple(part.strip() for part in text.split(","))
    for origin in origins:
        if not _is_origin(origin):
            raise ValueError(
                f"{origin!r} is not an exact origin; write it like https://chat.example or http://localhost:3000, "
                "without a wildcard or a path"
            )
    return origins


def parse_public_url(text: str) -> str:
    """Parse the URL under which people open the server, such as `https://chat.example`, to its origin.

    Raise ValueError for text that is not an origin: a path other than /, capital letters, a default port.
    """
    origin = text.removesuffix("/")
    if not _is_origin(origin) or urlsplit(origin).scheme not in ("http", "https"):
        raise ValueError(f"{text!r} is not the URL of a server; write it like https://chat.example, without a path")
    return origin


def _is_origin(text: str) -> bool:
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError:
        return False
    if not url.scheme or not url.hostname or "*" in text or port == {"http": 80, "https": 443}.get(url.scheme, 0):
        return False
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    return text == f"{url.scheme}://{host}" + (f":{port}" if port is not None else "")
