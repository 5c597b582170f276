"""Opening of the tiers below the device, in two steps, because Redis loads its snapshot in the meantime."""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from cache_tiers.cpu.shared_pool import SharedMemoryError, SharedPool
from cache_tiers.owners import Owners
from cache_tiers.redis.address import RedisAddress, parse_redis_url
from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.errors import CompanionError, RedisAddressError, StateDirInUseError
from cache_tiers.redis.server_binary import find_redis_server
from cache_tiers.store import KVTierStore
from engine.config import EngineConfig
from engine.errors import EngineError

MIB = 1 << 20

Progress = Callable[[str], None]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FoundRedis:
    """Result of `find_redis`.

    address: None if the tier is off.
    note: the reason in that case, in a sentence.
    """

    address: RedisAddress | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class OpenTiers:
    """The tiers below the device.

    store: None if both tiers are off.
    redis: the Redis tier is on.
    redis_note: the reason why it is off, in a sentence; empty while it is on.
    shared_pool: the host memory's name for the processes that compute; None if this process does.
    """

    store: KVTierStore | None
    redis: bool
    redis_note: str
    shared_pool: SharedPool | None = None


def find_redis(config: EngineConfig, progress: Progress, closing: ExitStack) -> FoundRedis:
    """Find Redis. A companion is started and awaited here, and stopped by `closing`.

    A companion that cannot start leaves the tier off. Raise EngineError for an invalid setting or a state directory in
    use.
    """
    tiers = config.tiers
    if tiers is None:
        return FoundRedis(None, "off" if config.prefix_cache else "off: --no-prefix-cache")
    if tiers.redis_url == "off":
        return FoundRedis(None, "off: --redis-url off")
    if tiers.redis_url != "auto":
        try:
            return FoundRedis(parse_redis_url(tiers.redis_url))
        except RedisAddressError as error:
            raise EngineError(f"--redis-url: {error}") from error
    binary = find_redis_server()
    if binary is None:
        note = "off: no redis-server or valkey-server on PATH; install one and restart"
        logger.warning("Redis is %s", note)
        return FoundRedis(None, note)
    progress(f"starting Redis ({binary.name}) and loading its snapshot")
    try:
        companion = RedisCompanion(tiers.state_dir, binary=binary, max_memory=tiers.redis_memory)
        companion.start()
    except StateDirInUseError as error:
        raise EngineError(str(error)) from error
    except CompanionError as error:
        logger.warning("Redis is off: %s", error)
        return FoundRedis(None, f"off: {error}")
    closing.callback(companion.stop)
    return FoundRedis(companion.address)


def import_store(config: EngineConfig) -> None:
    """Import what `open_tiers` needs, if any tier is on. Importing LMCache takes half a second."""
    if config.tiers is not None and not config.tiers.all_off:
        import cache_tiers.lmcache_store  # noqa: F401


def open_tiers(
    config: EngineConfig,
    block_nbytes: int,
    redis: FoundRedis,
    progress: Progress,
    closing: ExitStack,
    *,
    cpu_bytes: int,
    fingerprint: bytes,
    owners: Owners,
) -> OpenTiers:
    """Allocate a CPU tier of `cpu_bytes` and connect to Redis. `closing` closes the store.

    block_nbytes: bytes of a block, for all ranks together.
    fingerprint: identifies everything that may change a bit of the KV, for the values in Redis.
    owners: names and weights of the owners of blocks.

    Raise EngineError.
    """
    if config.tiers is None or (redis.address is None and cpu_bytes == 0):
        return OpenTiers(None, redis=False, redis_note=redis.note)
    progress(f"opening the cache tiers: {cpu_bytes // MIB} MiB of CPU memory, Redis {redis.address or redis.note}")
    from cache_tiers.lmcache_store import open_store
    from cache_tiers.redis.value import BlockSeal

    try:
        store = open_store(
            block_nbytes=block_nbytes,
            cpu_bytes=cpu_bytes,
            redis_address=redis.address,
            seal=BlockSeal(config.secret, fingerprint),
            keep_in_cpu=cpu_bytes > 0,
            eviction=config.tiers.eviction,
            owners=owners,
            shared=config.tensor_parallel_size > 1,
        )
    except SharedMemoryError as error:
        raise EngineError(str(error)) from error
    closing.callback(store.close)
    return OpenTiers(store, redis.address is not None, redis.note, store.shared_pool)
