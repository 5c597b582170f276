"""Interface to a tier below CPU memory, such as Redis."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from cache_tiers.config import TierConfig
from cache_tiers.histogram import Histogram
from cache_tiers.lower.link_speed import LinkSpeed
from cache_tiers.lower.sealed_value import BlockSeal
from cache_tiers.owners.owners import Owners
from cache_tiers.tier import Tier, TierId

Progress = Callable[[str], None]


class TierError(Exception):
    """A tier's settings are invalid, or its state directory is in use. The server must not start."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block, or a part of one that is stored as its own value.

    payload: memory to send from or receive into, contiguous, format 'B'.
    """

    key: bytes
    payload: memoryview


class TierMissReason(Enum):
    """Reason why no tier below CPU memory delivered a block. `{tier}` stands for the name of a tier."""

    OFF = "no tier below CPU memory is on"
    SKIPPED = "{tier} was skipped"
    NO_ANSWER = "{tier} did not answer"
    GONE = "no longer in {tier}: evicted, expired or deleted"
    UNKNOWN_KEY = "not in {tier}: evicted, expired, deleted, or never written by a model with the same numerics"
    UNWRITTEN = "{tier} did not take the block when it was to be written"
    REJECTED = "the value in {tier} was rejected"
    NOT_TAKEN = "the CPU tier had no room for the block"


ABSENT = (TierMissReason.GONE, TierMissReason.UNKNOWN_KEY)
"""Reasons that mean that the tier answered and did not have the block."""


@dataclass(frozen=True, slots=True)
class TierMiss:
    """Reason why a block was not delivered.

    detail: further information in words, possibly empty.
    tier: name of the tier; empty if the reason concerns none.
    gone_from: tiers that answered that they do not have the block.
    """

    reason: TierMissReason
    detail: str = ""
    tier: str = ""
    gone_from: tuple[TierId, ...] = ()

    @property
    def text(self) -> str:
        """The reason in words."""
        words = self.reason.value.format(tier=self.tier)
        return f"{words}: {self.detail}" if self.detail else words


@dataclass(frozen=True, slots=True, kw_only=True)
class LowerTierStats:
    """Occupancy and health of a tier below CPU memory. Blocks are counted since the start.

    state: "off", "ok" or the reason why the tier is not used.
    used_bytes: 0 if unknown.
    capacity_bytes: 0 if unknown or unlimited.
    evicted_blocks: counted by the tier itself, and possibly including values of other programs.
    pending_writes: blocks waiting to be written.
    write_lag_seconds: age of the oldest of these.
    failed_blocks: blocks that did not reach the tier, for any reason.
    shed_blocks: failed blocks that found the write queue full.
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
    pending_writes: int = 0
    write_lag_seconds: float = 0.0
    stored_blocks: int = 0
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


class LowerTier(Protocol):
    """A tier below CPU memory. Thread-safe.

    No method waits for the tier, except for `flush` and `close`. Every operation completes: with its result, or as a
    miss or a failure if the tier is unavailable, slow, full or wrong. The result is passed to a callback exactly once,
    on any thread.
    """

    @property
    def tier(self) -> Tier:
        """Identity of the tier."""

    @property
    def available(self) -> bool:
        """Whether operations are attempted at present."""

    @property
    def speed(self) -> LinkSpeed:
        """Speed of the link to the tier, estimated from recent operations."""

    def announce(self, keys: Sequence[bytes]) -> None:
        """Note blocks that will be passed to `put` at any moment. Their lag counts from now."""

    def awaits_put(self, key: bytes) -> bool:
        """Return True if a block has been announced and `put` has not been called with it yet."""

    def put(self, blocks: Sequence[Block], done: Callable[[bool], None]) -> None:
        """Write the blocks. `done` receives True if all were stored; their memory must not change until then."""

    @property
    def num_missed(self) -> int:
        """Blocks that the tier lost, or that did not reach it: it was unavailable, refused them or had a full queue."""

    @property
    def may_miss_more(self) -> bool:
        """Whether a pending reply could add to the missed blocks."""

    def take_missed(self, most: int) -> list[bytes]:
        """Take at most `most` missed blocks to put again, oldest first; none while the tier cannot accept any."""

    def renew(self, chain: Sequence[bytes]) -> None:
        """Mark blocks as used that were used in a tier above, so that this tier evicts them last."""

    def num_known(self, keys: Sequence[bytes]) -> int:
        """Return the length of the leading run of `keys` that the tier should hold, without asking it.

        Keys that `find` or `load` has just found, or `put` has stored, count until an answer says otherwise.
        """

    def find(self, keys: Sequence[bytes], done: Callable[[list[bool]], None]) -> None:
        """Look up which keys the tier holds."""

    def load(self, blocks: Sequence[Block], done: Callable[[list[bool]], None]) -> None:
        """Fill the blocks' memory. `done` receives True for each block that is complete and verified.

        The memory of the other blocks then holds garbage.
        """

    def erase(self, keys: Sequence[bytes], done: Callable[[bool], None]) -> None:
        """Remove the blocks. `done` receives True if the tier has none of them any more.

        No write of them may be in flight.
        """

    def take_lookup_seconds(self, key: bytes) -> float:
        """Take the duration of the last lookup of `key`; 0 if there was none since the previous call."""

    def miss_of(self, key: bytes) -> TierMiss | None:
        """Return why the last lookup or load did not deliver `key`; None if no reason is known."""

    def note_unanswered(self, keys: Sequence[bytes]) -> None:
        """Record that the tier gave no answer about keys that were requested."""

    def stats(self) -> LowerTierStats:
        """Return the current statistics, without asking the tier."""

    def flush(self, timeout: float) -> bool:
        """Block until every announced block and every erasure is settled.

        Return False on timeout, or if a block did not reach the tier or could not be erased.
        """

    def close(self) -> None:
        """Fail all operations and end every thread. No block's memory is touched afterwards."""


@dataclass(frozen=True, slots=True)
class LowerTierOptions:
    """Properties of the store that a lower tier depends on.

    block_nbytes: bytes of a block.
    max_write_bytes: maximum size of the payloads that wait to be written.
    seal: signs and checks blocks that leave the process.
    owners: names and weights of the owners of blocks.
    """

    block_nbytes: int
    max_write_bytes: int
    seal: BlockSeal
    owners: Owners


LowerTierOpener = Callable[[LowerTierOptions], LowerTier]
"""Opens a tier. Does not raise: a tier whose server is unreachable opens as unavailable."""


@dataclass(frozen=True, slots=True)
class FoundTier:
    """Result of `LowerTierKind.find`.

    open: None if the tier is off.
    note: the reason why the tier is off, in a sentence; while it is on, its address.
    """

    open: LowerTierOpener | None
    note: str


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
