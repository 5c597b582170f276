"""The address of a Ray cluster."""

AUTO = "auto"


def parse_ray_address(text: str) -> str:
    """Return the address. Raise ValueError unless it is AUTO or HOST:PORT."""
    host, _, port = text.rpartition(":")
    if text != AUTO and not (host and port.isdecimal() and 0 < int(port) < 1 << 16):
        raise ValueError("must be auto or HOST:PORT, such as 10.0.0.1:6379")
    return text
