"""Division of an engine's configuration among replicas."""

from pathlib import Path

import pytest

from cache_tiers.config import TierConfig
from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.fleet.placement.shares import check_divisible, shares_of


def config_in(folder: Path) -> EngineConfig:
    tiers = TierConfig(64 << 20, "off", 0, folder)
    return EngineConfig(
        model=ModelConfig(path=folder, name="fake"),
        cache=CacheConfig(tiers=tiers, secret=b"a secret of the tests", kv_memory=1 << 30),
    )


def test_accelerators_keep_their_whole_memory(tmp_path: Path) -> None:
    config = config_in(tmp_path)
    for device, kv_memory in (("cpu", 1 << 29), ("cuda", 1 << 30)):
        shares = shares_of(config.with_fields(kind=device), 2)
        assert [share.cache.kv_memory for share in shares] == [kv_memory] * 2
        assert [share.cache.tiers and share.cache.tiers.cpu_memory for share in shares] == [32 << 20] * 2


def test_replicas_need_a_device_each(tmp_path: Path) -> None:
    config = config_in(tmp_path).with_fields(kind="npu", accelerators=("0", "1"))
    check_divisible(config, 2)
    with pytest.raises(EngineError, match="3 replicas need 3 npu devices"):
        check_divisible(config, 3)
    # The devices of a cluster are counted by Ray.
    check_divisible(config, 3, "auto")
