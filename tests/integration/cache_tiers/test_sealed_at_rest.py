"""A reader of the Redis or of the disk who lacks the secret finds no part of any K or V there."""

import random
from pathlib import Path
from typing import Final

import pytest

from cache_tiers.disk.backend import DiskBackend
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.backend import TierBackend
from cache_tiers.lower.block import Block
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.backend import RedisBackend
from tests.redis_server import RedisServer
from tests.store_rig import SEAL, keys

pytest_plugins = ["tests.store_fixtures"]

NBYTES: Final = 48 << 10
BLOCKS: Final = 8
RUNS: Final = 2_000
RUN_BYTES: Final = 32


def kv(number: int) -> bytes:
    """Make K, the same row again and again, and V, in which no run occurs twice."""
    source = random.Random(number)
    return source.randbytes(256) * (NBYTES // 2 // 256) + source.randbytes(NBYTES // 2)


def store(backend: TierBackend) -> list[bytes]:
    """Store blocks. Return their bytes."""
    blocks = [kv(number) for number in range(BLOCKS)]
    tier = AsyncTier(backend, LowerTierOptions(NBYTES, 2 * BLOCKS * NBYTES, SEAL, Owners()))
    try:
        named = zip(keys(range(BLOCKS)), blocks, strict=True)
        tier.put([Block(key, memoryview(block)) for key, block in named], lambda _stored: None)
        assert tier.flush(20)
    finally:
        tier.close()
    return blocks


def num_found(blocks: list[bytes], places: list[bytes]) -> int:
    """Return how many of random runs of the blocks occur in any of `places`."""
    source, whole = random.Random(0), b"\n".join(places)
    begins = [source.randrange(NBYTES - RUN_BYTES) for _ in range(RUNS)]
    return sum(source.choice(blocks)[begin : begin + RUN_BYTES] in whole for begin in begins)


@pytest.mark.parametrize("max_value_bytes", [NBYTES, NBYTES // 3])
def test_redis_has_no_run_of_any_block(redis_server: RedisServer, max_value_bytes: int) -> None:
    blocks = store(RedisBackend(redis_server.address, max_value_bytes=max_value_bytes))
    with redis_server.client() as client:
        places = [value for name in client.scan_iter() if isinstance(value := client.get(name), bytes)]
        client.save()
    places.append((redis_server.folder / "dump.rdb").read_bytes())
    assert sum(map(len, places)) > 2 * BLOCKS * NBYTES
    assert num_found(blocks, [*places, blocks[0]]) > RUNS // BLOCKS // 2, "what is there must be found"
    assert num_found(blocks, places) == 0


def test_disk_has_no_run_of_any_block(tmp_path: Path) -> None:
    backend = DiskBackend(tmp_path / "kv", 1 << 30, kept_free=0)
    blocks = store(backend)
    backend.close()
    places = [each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()]
    assert sum(map(len, places)) > BLOCKS * NBYTES
    assert num_found(blocks, places) == 0
