"""Names in the Host header under which a server answers, so that a foreign name cannot be bound to its address.

In DNS rebinding a page of evil.example changes the address of evil.example to the server's. The browser then takes the
server for the page's own. Where no key is demanded, the name in the Host header is all that tells the two apart.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from app.access.auth_policy import AuthPolicy
from app.config.parsers import LOOPBACK_NAMES, is_loopback

LOCAL_SUFFIXES = (".localhost", ".local", ".internal", ".home.arpa")
"""Domains that public DNS does not resolve (RFC 6761, 6762, 8375; ICANN for .internal)."""


class HostNames:
    """Names of one server."""

    def __init__(self, bound_host: str, public_url: str, auth_policy: AuthPolicy) -> None:
        """Create the names of a server.

        bound_host: address that the server listens on.
        public_url: URL that people open; "" if unknown.
        auth_policy: when the server demands a key.
        """
        self._known = LOOPBACK_NAMES | {bound_host, urlsplit(public_url).hostname or bound_host}
        self._is_local = is_loopback(bound_host)
        # Where keys are always demanded, a page under another name has no key to act with.
        self._takes_any = auth_policy == "always"

    def refusal(self, host_header: str) -> str | None:
        """Return the reason why the server does not answer to the name in `host_header`; None if it does."""
        name = host_name(host_header)
        if self._takes_any or name in self._known or self._is_at_home(name):
            return None
        scope = "listens on this machine only" if self._is_local else "requires no keys"
        return (
            f"This server {scope} and does not answer to the name {name!r}. If a proxy in front of the server "
            f"keeps that name, start the server with --public-url https://{name or 'NAME'}."
        )

    def _is_at_home(self, name: str) -> bool:
        if self._is_local:
            return name.endswith(".localhost")
        return "." not in name.rstrip(".") or name.endswith(LOCAL_SUFFIXES) or _is_address(name)


def host_name(host_header: str) -> str:
    """Return the name without the port; empty if the header does not name a host."""
    try:
        return urlsplit(f"//{host_header}").hostname or ""
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
