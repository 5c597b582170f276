"""The line in the log about KV blocks in the companion Redis that this server cannot use, as after an upgrade."""

import asyncio
import logging
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from app.config.sizes import format_size
from app.host.engine_host import EngineHost
from cache_tiers.redis.companion_folder import companion_folder, socket_path

if TYPE_CHECKING:
    from cache_tiers.redis.address import RedisAddress

logger = logging.getLogger(__name__)


async def log_earlier_kv(state_dir: Path, host: EngineHost) -> None:
    """Wait for the engine, and log one line if its companion Redis holds KV blocks of another fingerprint.

    Other servers may use the blocks of a Redis that the operator named, so those are not counted.
    """
    engine = await host.until_ready()
    sentence = await asyncio.to_thread(_described, state_dir, engine.kv_fingerprint)
    if sentence:
        logger.info("%s", sentence)


def _described(state_dir: Path, kv_fingerprint: str) -> str:
    # The client of Redis takes a while to import, and no answer waits for it here.
    import redis

    from cache_tiers.redis.address import RedisAddress
    from cache_tiers.redis.errors import CompanionError

    try:
        address = RedisAddress(unix_path=socket_path(companion_folder(state_dir)))
        return earlier_kv(address, kv_fingerprint)
    except (redis.RedisError, CompanionError):
        # The state of the tier says why there is no Redis.
        return ""


def earlier_kv(address: "RedisAddress", kv_fingerprint: str) -> str:
    """Describe the KV blocks in a Redis that have another fingerprint; empty if there are none.

    Raise redis.RedisError.
    """
    from cache_tiers.redis.inspection import connect, stat

    with connect(address) as client:
        found = stat(client)
    count, nbytes = _others(found.by_model, kv_fingerprint), _others(found.bytes_by_model, kv_fingerprint)
    if not count:
        return ""
    return (
        f"Redis holds {count} KV blocks ({format_size(nbytes)}) of another version of Ebb, another model or another "
        "way to compute. This server does not use them, and they stay until they age out. `ebb cache clear` frees the "
        "room at once: it deletes all KV blocks"
    )


def _others(by_model: Counter[str], kv_fingerprint: str) -> int:
    return sum(number for model, number in by_model.items() if not kv_fingerprint.startswith(model))
