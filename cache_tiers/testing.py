"""The smallest tier below CPU memory: a dictionary, for tests and as an example."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from cache_tiers.config import TierConfig
from cache_tiers.lower.backend import Refusal, TierClient, TierDescription, TierFaultError, Usage, Value
from cache_tiers.lower.inspection import StoredBlocks, Verdict
from cache_tiers.lower.link_speed import LinkMeter
from cache_tiers.lower.sealed_value import HEADER_BYTES, Reject
from cache_tiers.lower.tier import FoundTier, Progress, SharedTier
from cache_tiers.tier import Tier


class DictBackend:
    """Values in a dictionary, which outlives its sessions as those of a server do.

    values: header and payload by key.
    fault: every call raises it while it is not None.
    refusal: every change is refused with it while it is not empty.
    """

    def __init__(
        self,
        tier: Tier,
        values: dict[bytes, bytes] | None = None,
        *,
        lanes: int = 1,
        max_value_bytes: int | None = None,
        renew_seconds: float = 60.0,
        probe_seconds: float = 0.01,
    ) -> None:
        self.values = values if values is not None else {}
        self.fault: OSError | TierFaultError | None = None
        self.refusal = ""
        self.description = TierDescription(
            tier=tier,
            place="a dictionary",
            lanes=lanes,
            max_value_bytes=max_value_bytes,
            renew_seconds=renew_seconds,
            probe_seconds=probe_seconds,
        )

    def connect(self, meter: LinkMeter, _client: TierClient) -> "DictSession":
        """See TierBackend."""
        self.check()
        return DictSession(self, meter)

    def describe_fault(self, error: OSError | TierFaultError) -> str:
        """See TierBackend."""
        return f"{self.description.tier.name} cannot be reached: {error}"

    def check(self) -> None:
        """Raise the fault, if there is one."""
        if self.fault is not None:
            raise self.fault


class DictInspection:
    """The values of a dictionary, none of which is checked. See TierInspection."""

    is_private = True
    place = "a dictionary"

    def __init__(self, values: dict[bytes, bytes]) -> None:
        self._values = values

    def stat(self) -> StoredBlocks:
        """See TierInspection."""
        counts, nbytes = Counter(unknown=len(self._values)), sum(map(len, self._values.values()))
        return StoredBlocks(
            used_bytes=nbytes, limit_bytes=0, evicted=None, by_model=counts, bytes_by_model=Counter(unknown=nbytes)
        )

    def verify(self, progress: Callable[[int], None]) -> Verdict:
        """See TierInspection."""
        progress(len(self._values))
        return Verdict(num_whole=len(self._values))

    def clear(self) -> int:
        """See TierInspection."""
        count = len(self._values)
        self._values.clear()
        return count


class DictSession:
    """The values of a dictionary. See TierSession."""

    def __init__(self, backend: DictBackend, meter: LinkMeter) -> None:
        self._backend = backend
        self._meter = meter

    def prepare(self) -> None:
        """See TierSession."""

    def find(self, keys: Sequence[bytes]) -> list[bool]:
        """See TierSession."""
        self._backend.check()
        self._meter.on_answer(1e-6)
        return [key in self._backend.values for key in keys]

    def read(self, values: Iterator[Value]) -> Iterator[int | Reject | None]:
        """See TierSession."""
        num_read = 0
        with self._meter.receiving(lambda: num_read):
            for value in values:
                self._backend.check()
                found = self._backend.values.get(value.key)
                if found is not None:
                    header = memoryview(value.header)[: len(found)]
                    header[:] = found[: header.nbytes]
                    if len(found) == HEADER_BYTES + value.payload.nbytes:
                        value.payload[:] = found[HEADER_BYTES:]
                    num_read += len(found)
                yield None if found is None else len(found)

    def write(self, values: Iterable[Value]) -> Refusal | None:
        """See TierSession."""
        for value in values:
            self._backend.check()
            if self._backend.refusal:
                return Refusal(self._backend.refusal)
            self._backend.values[value.key] = bytes(value.header) + bytes(value.payload)
        return None

    def keep(self, keys: Sequence[bytes]) -> list[bool] | Refusal:
        """See TierSession. Nothing is evicted, so nothing has to be noted."""
        return self.find(keys)

    def remove(self, keys: Sequence[bytes]) -> Refusal | None:
        """See TierSession."""
        self._backend.check()
        if self._backend.refusal:
            return Refusal(self._backend.refusal)
        for key in keys:
            self._backend.values.pop(key, None)
        return None

    def usage(self) -> Usage:
        """See TierSession."""
        self._backend.check()
        return Usage(used_bytes=sum(map(len, list(self._backend.values.values()))), refusal=self._backend.refusal)

    def abort(self) -> None:
        """See TierSession. No call waits."""

    def close(self) -> None:
        """See TierSession."""


@dataclass
class DictKind:
    """Registration of a tier in a dictionary, whose values outlive the engine as those of a server do."""

    tier: Tier
    values: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def description(self) -> TierDescription:
        """See LowerTierKind."""
        return DictBackend(self.tier).description

    def is_off(self, _config: TierConfig) -> bool:
        """See LowerTierKind."""
        return False

    def keeps_blocks(self, _config: TierConfig) -> bool:
        """See LowerTierKind."""
        return bool(self.values)

    def find(self, _config: TierConfig, _progress: Progress, _closing: ExitStack) -> FoundTier:
        """See LowerTierKind."""
        return FoundTier(DictBackend(self.tier, self.values), "in a dictionary")

    def share(self, config: TierConfig, _progress: Progress, _closing: ExitStack) -> SharedTier:
        """See LowerTierKind. Each engine opens the tier itself."""
        return SharedTier(config)

    def inspect(self, _config: TierConfig, _secret: bytes) -> DictInspection:
        """See LowerTierKind."""
        return DictInspection(self.values)
