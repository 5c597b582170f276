"""Settings of the memory of KV blocks."""

from dataclasses import dataclass
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

from app.config.options import any_path, one_of, setting, size_from
from cache_tiers.cpu.eviction import EvictionName
from cache_tiers.redis.address import parse_redis_url
from cache_tiers.redis.errors import RedisAddressError


def _redis_url(text: str) -> str:
    if text in ("auto", "off"):
        return text
    url = urlsplit(text)
    if url.scheme not in ("redis", "rediss", "unix") or not (url.path if url.scheme == "unix" else url.hostname):
        # Leave the text out of the message: it may hold a password.
        raise ValueError("must be auto, off, redis://host:port, rediss://host:port or unix:///path")
    try:
        parse_redis_url(text)
    except RedisAddressError as error:
        raise ValueError(str(error)) from None
    return text


@dataclass(frozen=True, kw_only=True)
class MemorySettings:
    """Sizes and policies of the tiers."""

    kv_memory: int = setting(
        0,
        size_from(1 << 20),
        "SIZE",
        "memory of the KV blocks on the device, or on all devices together",
        default_text="three windows, at most a tenth of the free memory, or a fifth for one window",
    )
    cpu_kv_memory: int | None = setting(
        None,
        size_from(0),
        "SIZE",
        "memory of the CPU tier; `0` turns it off",
        default_text="3 × `kv-memory`, without it at most half of the free memory with the device blocks",
    )
    eviction_policy: EvictionName = setting(
        "returning",
        one_of(*get_args(EvictionName)),
        "POLICY",
        (
            "blocks that a full CPU tier evicts first: `returning` keeps live chats and shared prefixes "
            "longer, `lru` goes by last use"
        ),
    )
    redis_url: str = setting(
        "auto",
        _redis_url,
        "URL",
        "Redis of the lower tier: `auto` (a companion), `off`, `redis://`, `rediss://` or `unix://`",
        repr=False,
    )
    redis_memory: int | None = setting(
        None,
        size_from(1 << 20),
        "SIZE",
        "memory of the companion Redis",
        default_text="an eighth of the available memory, at most 2 GiB",
    )
    disk_kv_size: int | None = setting(
        None,
        size_from(0),
        "SIZE",
        "most bytes of KV blocks on the disk, where they survive a restart; `0` turns this off",
        default_text="a tenth of the disk's free space, at most 20 GiB",
    )
    disk_kv_dir: Path | None = setting(
        None,
        any_path,
        "DIR",
        "directory of the KV blocks, on a local disk; servers with the same secret may share it",
        default_text="`kv` in the cache directory",
    )
    packed_size: int | None = setting(
        None,
        size_from(0),
        "SIZE",
        "most bytes of [packed weights](decisions/kept-weights.md) in the cache directory, which later starts map; `0` "
        "keeps none",
        default_text="a fifth of the disk's free space, at most 64 GiB",
    )
