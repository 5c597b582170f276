"""Names of tenants, and of keys: what is safe in a path, a log and a terminal."""

import re

LOCAL = "local"
"""The tenant of whoever has no key."""

RULE = "is 1 to 64 letters, digits, '.', '_', '@' or '-', the first a letter or digit"
PATTERN = r"[0-9A-Za-z][0-9A-Za-z._@-]{0,63}"


def parse_name(text: str) -> str:
    """The name. Raises ValueError for what is none."""
    if re.fullmatch(PATTERN, text) is None:
        raise ValueError(f"{text!r} is not a name, which {RULE}")
    return text
