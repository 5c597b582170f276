"""The network that a client belongs to, as limits by address count clients."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address


def network_of(peer: str | None) -> str:
    """Return the IPv4 address or the IPv6 /64 network of a client; "" if it has no address.

    peer: address of the client; None if it has none.
    """
    address = _address(peer)
    if address is None:
        return ""
    return str(address) if address.version == 4 else str(IPv6Network((int(address) >> 64 << 64, 64)))


def is_local(peer: str | None) -> bool:
    """Return whether a client has an address of this machine, from which a proxy forwards other clients' requests."""
    address = _address(peer)
    return address is not None and address.is_loopback


def _address(peer: str | None) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(peer or "")
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
