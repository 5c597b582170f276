"""Names of tenants and keys, limited to characters that are safe in a path, a log and a terminal."""

import re

LOCAL = "local"
"""Tenant of clients without a key."""

RULE = "1 to 64 letters, digits, '.', '_', '@' or '-', the first a letter or digit"
PATTERN = r"[0-9A-Za-z][0-9A-Za-z._@-]{0,63}"


def parse_name(text: str) -> str:
    """Return `text` if it is a valid name. Raise ValueError otherwise."""
    if re.fullmatch(PATTERN, text) is None:
        raise ValueError(f"{text!r} is not a valid name: a name is {RULE}")
    return text
