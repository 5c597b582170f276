"""Identity of a tier of the KV cache."""

from dataclasses import dataclass
from typing import Final

TierId = str
"""Name of a tier in JSON, metrics and records."""

BLOCK_TTL_SECONDS: Final = 7 * 24 * 3600
"""Time to live of an unused block in the tiers below CPU memory."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One tier of the KV cache."""

    id: TierId
    name: str
    """Name in a sentence."""


DEVICE: Final = Tier("device", "the device")
CPU: Final = Tier("cpu", "CPU memory")
