"""The five blocking methods of a tier below CPU memory, and a sixth one of a tier that gives promises.

`AsyncTier` does everything else, for all tiers.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.promise import Promised, PromiseTerms
from cache_tiers.lower.sealed_value import Reject
from cache_tiers.owners.owners import Owners
from cache_tiers.tier import Tier


class TierFaultError(Exception):
    """The tier failed. The message names the fault."""


class TierRefusedError(TierFaultError):
    """The tier answers, but refuses to look values up or to read them."""


class Value(NamedTuple):
    """A sealed block, or a part of a large one.

    header: HEADER_BYTES bytes; given to be written, or to be filled by a read.
    payload: encrypted memory to store or to fill, contiguous, format 'B', beginning at a page. Values that one thread
        moves share this memory.
    is_last: whether this is the last value of a block that is written.
    """

    key: bytes
    header: bytes | bytearray
    payload: memoryview
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that a working tier does not make, since it is full, read-only or not allowed to.

    words: what was refused, and the tier's reply.
    """

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Answer of a tier about itself. Values of other programs may be included.

    capacity_bytes: 0 if unlimited or unknown.
    evicted: number of values evicted, since some moment in the past.
    promised_bytes: those of `used_bytes` that are promised.
    broken_promises: number of promised values that could not be held.
    refusal: the words of the refusal of a write that was tried without any effect; empty if writes are accepted.
    """

    used_bytes: int = 0
    capacity_bytes: int = 0
    evicted: int = 0
    promised_bytes: int = 0
    broken_promises: int = 0
    refusal: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TierDescription:
    """Properties of a tier.

    place: where it is, for the log.
    lanes: number of threads that read at the same time.
    write_lanes: maximum number of threads that write at the same time.
    max_value_bytes: largest payload of a value; a larger block is several values. None if there is no limit.
    renew_seconds: minimum interval between calls of `keep` for a block that is used in a tier above.
    probe_seconds: interval between calls of `usage`.
    hang_seconds: time without progress of a call after which the tier counts as hanging. None if every call ends by
        itself within a few seconds.
    gives_promises: whether the sessions are `PromisingSession`s.
    """

    tier: Tier
    place: str
    lanes: int = 1
    write_lanes: int = 2
    max_value_bytes: int | None = None
    renew_seconds: float = 60.0
    probe_seconds: float = 1.0
    hang_seconds: float | None = None
    gives_promises: bool = False

    @property
    def threads(self) -> int:
        """Number of threads that move blocks: one more than read and write, for lookups."""
        return self.lanes + self.write_lanes + 1

    def sealing_bytes(self, block_nbytes: int) -> int:
        """Return the most bytes that the threads take for sealed payloads: each has room for one value."""
        return self.threads * -(-block_nbytes // values_per_block(block_nbytes, self.max_value_bytes))


def values_per_block(block_nbytes: int, max_value_bytes: int | None) -> int:
    """Return the number of values that hold a block. max_value_bytes: see TierDescription."""
    return 1 if max_value_bytes is None else max(1, -(-block_nbytes // max_value_bytes))


@dataclass(frozen=True, slots=True)
class TierClient:
    """The model whose blocks a session moves.

    fingerprint: see `KeyNamespace.fingerprint`.
    owners: names and weights of the owners of blocks.
    """

    fingerprint: bytes
    owners: Owners


class TierSession(Protocol):
    """The values of a tier, as one thread uses them. All methods block; `abort` alone is called by another thread.

    Each raises OSError or TierFaultError if the tier does not work, after which the session is closed. An operation
    that ended with a ConnectionError or a TierRefusedError is tried once more in a new session.
    """

    def prepare(self) -> None:
        """Do what later calls should not have to wait for. Called once, before all others."""

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        """Return which values exist now. The answer is a hint: a later read may still miss."""

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        """Fill values, and count each as used. `values` may be taken as far ahead as it helps.

        Their payloads share memory, which is read when a result is taken. So fill a payload only after the caller has
        taken the result of the value before it and asks for the next one.

        Yield one result per value, in order: the bytes of the whole value that was found, None if there is none, or the
        reason to reject it. A header is filled as far as the value reaches, a payload only if the value has
        exactly the bytes of header and payload. Report arriving bytes to the meter of the session.
        """

    def write(self, values: Iterable[Value]) -> Refusal | None:
        """Store the values of one block, each whole or not at all, in place of any former one.

        The last value stands for all, so it is stored once all others are. Return the refusal of any of them. A value
        lasts until the next one is taken, since their payloads share memory.
        """

    def keep(self, keys: Sequence[bytes]) -> list[bool] | Refusal:
        """Count values as used now, the last one most recently. Return which of them exist."""

    def remove(self, keys: Sequence[bytes]) -> Refusal | None:
        """Remove values. Once this returns None, no read finds them, not even after a restart of the tier."""

    def usage(self) -> Usage:
        """Return how full the tier is, and whether it accepts writes at present."""

    def abort(self) -> None:
        """Make the call in progress fail now, where that is possible. Called by another thread."""

    def close(self) -> None:
        """Release what the session holds."""


@runtime_checkable
class PromisingSession(TierSession, Protocol):
    """A session of a tier that also gives promises. Each of its blocks is one value."""

    def promise(self, keys: Sequence[bytes], terms: PromiseTerms) -> Promised:
        """Keep the leading run of `keys` that is stored, for the time of `terms` after each use.

        A promised value is not evicted, and the promise outlives the process. Writing the value again continues it.
        """


class TierBackend(Protocol):
    """A tier that can be connected to. Thread-safe."""

    @property
    def description(self) -> TierDescription:
        """Properties of the tier."""

    def connect(self, meter: LinkMeter, client: TierClient) -> TierSession:
        """Open a session that reports its answers and its bytes to `meter`. Raise OSError or TierFaultError.

        Only what `prepare` and later calls wait for can be aborted.
        """

    def describe_fault(self, error: OSError | TierFaultError) -> str:
        """Describe in one phrase for people why the tier is not used."""
