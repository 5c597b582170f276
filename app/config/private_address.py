"""The address of a private network on which processes of a fleet listen."""

import ipaddress


def parse_private_address(text: str) -> str:
    """Return the address. Raises ValueError unless it is an IP address that the internet cannot reach."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("must be an IP address of this machine, such as 127.0.0.1 or 10.0.0.7") from None
    if not address.is_private or address.is_unspecified:
        raise ValueError("must be an address of a private network: anyone on the internet could reach another one")
    return text
