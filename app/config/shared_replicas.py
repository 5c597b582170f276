"""Where the replicas run that several servers share."""

import ipaddress
from typing import Final

ON_RAY: Final = "ray"
"""Replicas on the machines of a Ray cluster."""


def parse_shared_replicas(text: str) -> str:
    """Return ON_RAY or an address of this machine. Raise ValueError for an address that the internet can reach."""
    if text == ON_RAY:
        return text
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("must be 'ray', or an IP address of this machine, such as 127.0.0.1 or 10.0.0.7") from None
    if not address.is_private or address.is_unspecified:
        raise ValueError("must be an address of a private network: anyone on the internet could reach another one")
    return text
