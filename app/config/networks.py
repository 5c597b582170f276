"""Addresses and networks, as users write them: `127.0.0.1,10.0.0.0/24`."""

from ipaddress import IPv4Network, IPv6Network, ip_network

Network = IPv4Network | IPv6Network


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parse addresses and networks. Raise ValueError for a part that is neither, and for a network of everything."""
    networks = tuple(_network(part.strip()) for part in text.split(","))
    for network in networks:
        if network.prefixlen == 0:
            raise ValueError(f"{network} is every address: list the addresses of the proxies")
    return networks


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an address or a network like 127.0.0.1 or 10.0.0.0/24") from None
