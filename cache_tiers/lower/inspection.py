"""Inspection of the blocks of a tier by people: without an engine, and also while servers use the tier."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from cache_tiers.lower.sealed_value import HEADER_BYTES, BlockSeal, Reject, fingerprint_of


class InspectionError(Exception):
    """The blocks of a tier cannot be reached. The text says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlocks:
    """Occupancy of a tier, and its blocks. A tier that divides large blocks counts their parts.

    used_bytes: all that is stored there, which may include more than blocks.
    limit_bytes: 0 for no limit.
    evicted: values evicted since the start of the tier's server; None for a tier without a server.
    by_model: number of blocks, by the first 8 hexadecimal digits of the model's fingerprint.
    bytes_by_model: total size of these blocks.
    promised_bytes: size of those that the tier has promised to keep.
    """

    used_bytes: int
    limit_bytes: int
    evicted: int | None
    by_model: Counter[str]
    bytes_by_model: Counter[str]
    promised_bytes: int = 0


@dataclass(slots=True)
class Verdict:
    """The result of reading every block.

    gone: blocks evicted or expired while they were being read.
    """

    num_whole: int = 0
    gone: int = 0
    rejects: Counter[Reject] = field(default_factory=Counter)

    def count(self, outcome: Reject | bool) -> None:
        """Count a block. outcome: True if it is intact, False if it is gone."""
        if isinstance(outcome, Reject):
            self.rejects[outcome] += 1
        elif outcome:
            self.num_whole += 1
        else:
            self.gone += 1


class TierInspection(Protocol):
    """The blocks of one tier. Every method raises InspectionError if the tier cannot be reached."""

    @property
    def place(self) -> str:
        """Address or folder of the tier."""

    @property
    def is_private(self) -> bool:
        """Whether only servers with this secret store blocks there."""

    def stat(self) -> StoredBlocks:
        """Count all blocks, of any model."""

    def verify(self, progress: Callable[[int], None]) -> Verdict:
        """Read and check every block, of any model. progress: called with the number of blocks read so far."""

    def clear(self) -> int:
        """Delete every block and nothing else. Return the number of blocks."""


def check_value(secret: bytes, key: bytes, value: bytes) -> Reject | None:
    """Check a whole value of any model that is stored under `key`. Return None if it is intact."""
    fingerprint = fingerprint_of(value[:HEADER_BYTES])
    return Reject.LENGTH if fingerprint is None else BlockSeal(secret, fingerprint).check_value(key, value)
