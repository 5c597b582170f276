"""Promises that a request asks for, and the engine's reply."""

from dataclasses import dataclass
from typing import Literal

DeclineReason = Literal[
    "no_reservation",
    "reservation_full",
    "no_disk",
    "disk_away",
    "disk_read_only",
    "not_written",
    "not_kept",
    "too_short",
]
"""Reason why KV is not promised.

no_reservation: no bytes of the disk are reserved for the tenant. reservation_full: they hold other promises.
no_disk: the disk tier is off. disk_away: the disk gave no answer in time. disk_read_only: the disk can keep nothing.
not_written: the blocks did not arrive on the disk in time. not_kept: other requests may not find the KV of this one.
too_short: the part to promise is shorter than a block.
"""


@dataclass(frozen=True, slots=True)
class PromiseRequest:
    """KV that is to be kept on the disk.

    num_tokens: number of the prompt's first tokens.
    seconds: time for which their KV is kept after each use.
    reserved_bytes: bytes of the disk that are reserved for the tenant.
    """

    num_tokens: int
    seconds: float
    reserved_bytes: int


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """Reply to a `PromiseRequest`. Only full blocks are promised.

    num_tokens: number of the prompt's first tokens that are promised.
    num_declined: number of the tokens after these that are not promised, although they fill blocks.
    seconds: time for which the tokens are kept after each use.
    until: end of the promise without a further use, in seconds since the epoch.
    reason: why not all blocks are promised; None if they are.
    """

    num_tokens: int
    num_declined: int
    seconds: float
    until: float
    reason: DeclineReason | None
