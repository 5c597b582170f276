"""Identity of a tier of the KV cache."""

import re
from dataclasses import dataclass
from typing import Final

TierId = str
"""Name of a tier in JSON, metrics and records."""

RESERVED: Final = frozenset({"tier", "computed", "bytes", "reuse", "name", "track", "started", "ended"})
"""Names that stand next to the ids of tiers in receipts, metrics and traces."""

BLOCK_TTL_SECONDS: Final = 7 * 24 * 3600
"""Time to live of an unused block in the tiers below CPU memory."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier of the KV cache.

    id: lower-case letters, digits and underscores, and none of RESERVED.
    name: name in a sentence.
    """

    id: TierId
    name: str

    def __post_init__(self) -> None:
        """Raise ValueError if the id cannot be used."""
        if not re.fullmatch("[a-z][a-z0-9_]*", self.id) or self.id in RESERVED:
            raise ValueError(f"{self.id!r} cannot be the id of a tier")


DEVICE: Final = Tier("device", "the device")
CPU: Final = Tier("cpu", "CPU memory")
