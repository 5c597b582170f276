"""A tier below CPU memory, such as Redis: its settings, what it needs to know, and what it says of itself."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from cache_tiers.config import TierConfig
from cache_tiers.histogram import Histogram
from cache_tiers.lower.backend import TierBackend, TierDescription
from cache_tiers.lower.inspection import TierInspection
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.sealed_value import BlockSeal
from cache_tiers.lower.write_account import WriteAccount
from cache_tiers.owners.owners import Owners
from cache_tiers.tier import Tier

Progress = Callable[[str], None]


class TierError(Exception):
    """A tier's settings are invalid, or its state directory is in use. The server must not start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerTierStats:
    """Occupancy and health of a tier below CPU memory. Blocks are counted since the start.

    state: "off", "ok" or the reason why the tier is not used.
    used_bytes: 0 if unknown.
    capacity_bytes: 0 if unknown or unlimited.
    evicted_blocks: counted by the tier itself, and possibly including values of other programs.
    promised_bytes: those of `used_bytes` that the tier has promised to keep.
    broken_promises: promised blocks that could not be held.
    pending_writes: blocks waiting to be written.
    write_lag_seconds: age of the oldest of these.
    written_bytes: payloads of the stored blocks, without those that the tier had already.
    failed_blocks: blocks that did not reach the tier, for any reason.
    shed_blocks: failed blocks that found the write queue full, or gave way to those of a faster tier.
    rejects: blocks that were found but not used, by a keyword for the reason.
    retry_seconds: time until the tier is tried again; 0 while it is used.
    refusal: the command and the error reply with which the tier refuses writes; empty while it accepts them.
    lookup_seconds: duration of each lookup of blocks.
    store_seconds: duration of each write of a block.
    """

    tier: Tier
    state: str
    used_bytes: int = 0
    capacity_bytes: int = 0
    evicted_blocks: int = 0
    promised_bytes: int = 0
    broken_promises: int = 0
    pending_writes: int = 0
    write_lag_seconds: float = 0.0
    stored_blocks: int = 0
    written_bytes: int = 0
    failed_blocks: int = 0
    shed_blocks: int = 0
    loaded_blocks: int = 0
    rejects: Mapping[str, int] = field(default_factory=dict)
    speed: LinkSpeed = field(default_factory=LinkSpeed)
    retry_seconds: float = 0.0
    refusal: str = ""
    lookup_seconds: Histogram = field(default_factory=Histogram.of_seconds)
    store_seconds: Histogram = field(default_factory=Histogram.of_seconds)

    @property
    def is_on(self) -> bool:
        """Whether the tier is on, available or not."""
        return self.state != "off"

    @property
    def rejected_blocks(self) -> int:
        """Rejected blocks, for all reasons together."""
        return sum(self.rejects.values())


@dataclass(slots=True)
class LowerTierOptions:
    """Properties of the store that its lower tiers depend on. All of them share one instance.

    block_nbytes: bytes of a block.
    max_write_bytes: maximum size of the payloads that wait to be written to any of the tiers.
    seal: seals and opens blocks that leave the process.
    owners: names and weights of the owners of blocks.
    writes: the account of the writes that wait.
    """

    block_nbytes: int
    max_write_bytes: int
    seal: BlockSeal
    owners: Owners
    writes: WriteAccount = field(init=False)

    def __post_init__(self) -> None:
        """Open the account."""
        self.writes = WriteAccount(self.max_write_bytes, self.owners)


@dataclass(frozen=True, slots=True)
class FoundTier:
    """Result of `LowerTierKind.find`.

    backend: None if the tier is off. Nothing has to be reachable there.
    note: the reason why the tier is off, in a sentence; while it is on, its address.
    """

    backend: TierBackend | None
    note: str

    @classmethod
    def off(cls, why: str) -> "FoundTier":
        """Return the result for a tier that is off."""
        return cls(None, f"off: {why}")


@dataclass(frozen=True, slots=True)
class SharedTier:
    """Result of `LowerTierKind.share`.

    config: settings with which each engine finds the tier.
    note: the reason why the tier is off, in a sentence; empty if the engines' own notes say all.
    """

    config: TierConfig
    note: str = ""


class LowerTierKind(Protocol):
    """A registered kind of lower tier: settings in, tier out."""

    @property
    def tier(self) -> Tier:
        """Identity of the tier."""

    @property
    def description(self) -> TierDescription:
        """Properties of each tier of this kind, which has a place besides."""

    @property
    def size_setting(self) -> str:
        """Name of the setting that bounds the tier."""

    def is_off(self, config: TierConfig) -> bool:
        """Return True if the settings turn the tier off."""

    def keeps_blocks(self, config: TierConfig) -> bool:
        """Return whether the tier, while it is off, may have blocks of earlier processes, to be found there later."""

    def find(self, config: TierConfig, progress: Progress, closing: ExitStack) -> FoundTier:
        """Find the tier's server, or start it and wait for it. `closing` stops what was started.

        A server that cannot be started leaves the tier off. Raise TierError.
        """

    def share(self, config: TierConfig, progress: Progress, closing: ExitStack) -> SharedTier:
        """Start what several engines of this machine share, before they call `find`. Otherwise as `find`."""

    def inspect(self, config: TierConfig, secret: bytes) -> TierInspection | None:
        """Return an inspection of the tier's blocks; None if the tier is off and has none. Raise InspectionError.

        secret: that of the server. Nothing is started or created.
        """
