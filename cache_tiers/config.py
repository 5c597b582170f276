"""Configuration of the tiers below the device."""

from dataclasses import dataclass
from pathlib import Path

from cache_tiers.cpu.eviction import EvictionName


@dataclass(frozen=True, slots=True)
class DiskConfig:
    """The disk tier.

    folder: place of the blocks that the server's secret seals.
    max_bytes: most bytes of all blocks there; 0 turns the tier off. None stands for a part of the free space.
    """

    folder: Path
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class TierConfig:
    """The tiers below the device. All sizes are in bytes.

    cpu_memory: None means three times the device pool; 0 means no CPU tier, only a staging pool if a lower tier is on.
    redis_url: "auto" starts or finds the companion, "off" disables Redis, else redis://, rediss:// or unix://.
    redis_memory: maxmemory of the companion. A server that the user names keeps its own settings.
    state_dir: folder of the companion's socket and pid file.
    eviction: the order in which blocks are evicted from CPU memory.
    disk: None for a process without a disk tier.
    """

    cpu_memory: int | None
    redis_url: str
    redis_memory: int
    state_dir: Path
    eviction: EvictionName = "returning"
    disk: DiskConfig | None = None
