"""The lines about KV blocks that a start finds in its tiers and cannot use."""

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.host.earlier_kv import log_earlier_kv
from app.host.engine_host import EngineHost
from cache_tiers.config import DiskConfig, TierConfig
from cache_tiers.disk.backend import DiskBackend
from cache_tiers.lower.async_tier import AsyncTier
from cache_tiers.lower.block import Block
from cache_tiers.lower.sealed_value import FINGERPRINT_BYTES
from cache_tiers.lower.tier import LowerTierOptions
from cache_tiers.owners.owners import Owners
from cache_tiers.redis.companion import RedisCompanion
from cache_tiers.redis.server_binary import find_redis_server
from tests.store_rig import BLOCK, SEAL, SECRET, Rig, Rigs, keys, payload
from tests.tier_results import Results

pytest_plugins = ["tests.store_fixtures"]

OWN = bytes(FINGERPRINT_BYTES).hex()


def tiers(folder: Path) -> TierConfig:
    return TierConfig(0, "auto", 1 << 26, folder, disk=DiskConfig(folder / "kv", 1 << 26))


async def lines(folder: Path, kv_fingerprint: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines that a start with this fingerprint logs."""
    caplog.clear()
    host = EngineHost()
    engine: Any = SimpleNamespace(kv_fingerprint=kv_fingerprint)
    host.ready(engine, "")
    with caplog.at_level(logging.INFO, "app.host.earlier_kv"):
        await log_earlier_kv(tiers(folder), SECRET, host)
    return caplog.messages


async def test_start_counts_kv_blocks_of_another_version(
    tmp_path: Path, rigs: Rigs, caplog: pytest.LogCaptureFixture
) -> None:
    binary = find_redis_server()
    assert binary is not None
    companion = RedisCompanion(tmp_path, binary=binary, max_memory=1 << 26)
    try:
        await asyncio.to_thread(companion.start)
        rig: Rig = rigs.open(companion.address)
        rig.put(keys(range(8)))
        assert await asyncio.to_thread(rig.store.flush, 10)
        assert await lines(tmp_path, OWN, caplog) == []
        [line] = await lines(tmp_path, "f" * 32, caplog)
    finally:
        await asyncio.to_thread(companion.stop)
    assert "8 KV blocks (512.8 KiB)" in line
    assert "`ebb cache clear`" in line


async def test_start_counts_blocks_of_another_version_on_the_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = tiers(tmp_path).disk
    assert config is not None
    tier = AsyncTier(
        DiskBackend(config.folder, config.max_bytes, kept_free=0), LowerTierOptions(BLOCK, 1 << 20, SEAL, Owners())
    )
    results = Results[bool]()
    tier.put([Block(name, memoryview(payload(name))) for name in keys(range(4))], results)
    assert await asyncio.to_thread(results.wait, 1) == [True]
    assert await lines(tmp_path, OWN, caplog) == []
    [line] = await lines(tmp_path, "f" * 32, caplog)
    await asyncio.to_thread(tier.close)
    assert line.startswith("4 KV blocks (272 KiB) of the disk come from another version of Ebb")


async def test_start_without_redis_logs_nothing_about_kv(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert await lines(tmp_path, OWN, caplog) == []
