"""Marks by which a login recognizes a browser in which the person was logged in before.

A mark says nothing about the person and opens nothing. Wrong passwords from elsewhere cause no delay there.
"""

import hmac
import secrets
from collections.abc import Callable
from typing import Final

from app.accounts.failed_logins import Source
from app.accounts.login_turns import LoginLine

COOKIE: Final = "ebb_browser"
COOKIE_SECONDS: Final = 365 * 86_400
ID_BYTES: Final = 12


class KnownBrowsers:
    """Makes and checks marks, with the secret of the server."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.digest(secret, b"ebb-known-browsers", "sha256")

    def mark(self, name: str) -> str:
        """Return the value of the cookie for a browser in which the person with this name logged in."""
        browser = secrets.token_urlsafe(ID_BYTES)
        return f"{browser}.{self._digest(browser, name)}"

    def source(self, mark: str | None, name: str, address: str, stop: Callable[[], None]) -> Source:
        """Return where a login with a name comes from: a browser that the person used, or an address.

        mark: value of the cookie; None without one.
        stop: as in `LoginLine`.
        """
        browser, _, digest = (mark or "").partition(".")
        if hmac.compare_digest(digest.encode(), self._digest(browser, name).encode()):
            return Source(f"browser {browser}", LoginLine(f"browsers of {name.lower()}", stop), is_known=True)
        return Source(f"address {address}", LoginLine(f"address {address}", stop))

    def _digest(self, browser: str, name: str) -> str:
        return hmac.digest(self._key, f"{browser}\n{name.lower()}".encode(), "sha256").hex()
