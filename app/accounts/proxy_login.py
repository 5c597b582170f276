"""Login by a proxy that authenticates people and names them in a header.

The address of the connection decides whether the header is believed. Other headers, such as X-Forwarded-For, do not
change that address.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from starlette.datastructures import Headers

from app.config.parsers import Network
from app.tenants.person import PROXY, Identity
from engine.api.errors import EbbError

MAX_TEXT = 255


class UntrustedProxyError(EbbError):
    """403: the header that names a person came from an address that is no listed proxy."""

    status = 403
    code = "untrusted_proxy"


@dataclass(frozen=True, slots=True)
class ProxyLogin:
    """The trusted proxy.

    user_header, groups_header: names in lower case; groups_header may be empty.
    """

    user_header: str
    groups_header: str
    networks: Sequence[Network]

    def identity(self, headers: Headers, peer: str | None) -> Identity | None:
        """Return the person that the proxy at `peer` names; None if the request names no person.

        peer: address at the other end of the connection; None if unknown.

        Raise UntrustedProxyError for a header that another address sent or that names a person badly, and for more
        than one header of the person or of the groups: a client may have sent the other one.
        """
        given = headers.getlist(self.user_header)
        if not given:
            return None
        if not self._is_trusted(peer):
            raise UntrustedProxyError(
                f"The header {self.user_header} is accepted from the addresses in --proxy-addresses only"
            )
        subject = given[0].strip()
        if len(given) > 1 or not subject.isprintable() or not 0 < len(subject) <= MAX_TEXT:
            raise UntrustedProxyError(f"The header {self.user_header} must name one person")
        groups = headers.getlist(self.groups_header) if self.groups_header else []
        if len(groups) > 1:
            raise UntrustedProxyError(
                f"The header {self.groups_header} must come once: let the proxy replace it, with commas between groups"
            )
        names = (name.strip() for name in ",".join(groups).split(","))
        return Identity(PROXY, subject, groups=tuple(name for name in names if name))

    def _is_trusted(self, peer: str | None) -> bool:
        address = _address(peer)
        return address is not None and any(address in network for network in self.networks)


def _address(text: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text or "")
    except ValueError:
        return None
    # A socket for both families reports IPv4 peers as ::ffff:192.0.2.1.
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
