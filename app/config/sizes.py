"""Sizes as people write them: 512MiB, 1.5GiB, 2GB, 0."""

import re

_UNITS = {
    "": 1,
    "b": 1,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
    "tib": 1 << 40,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
}
MAX_DIGITS = 30
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Parse a size in bytes; a bare number counts bytes. Raise ValueError for anything else, also for 512M."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or len(match[1]) > MAX_DIGITS or match[2].lower() not in _UNITS:
        raise ValueError(f"{text!r} is not a size; write it like 512MiB, 2GiB or 0")
    return int(float(match[1]) * _UNITS[match[2].lower()])


def format_size(nbytes: int) -> str:
    """Format `nbytes` in the largest binary unit that leaves a number of at least one: 1.5 GiB."""
    for unit, scale in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= scale:
            return f"{nbytes / scale:.1f}".removesuffix(".0") + f" {unit}"
    return f"{nbytes} bytes"
