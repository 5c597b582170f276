"""Erasures while a tier is off that may have blocks of earlier processes: they count as made only once it is on."""

from pathlib import Path

import pytest

from cache_tiers.config import DiskConfig, TierConfig
from cache_tiers.owners.block_key import KEY_BYTES, BlockKey
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from tests.conftest import default_cache_dir
from tests.tiny_models import make_tiny_model

KEY = BlockKey(bytes(KEY_BYTES))


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize(
    ("redis_url", "has_folder", "is_made"),
    [("off", False, True), ("off", True, False), ("unix:///nowhere/redis.sock", False, False)],
)
def test_erasure_is_made_unless_blocks_may_be_there(
    tiny_model: Path, tmp_path: Path, redis_url: str, has_folder: bool, is_made: bool
) -> None:
    """Turn off the disk, which may have blocks, or all reuse while the settings name a Redis."""
    tiers = TierConfig(0, redis_url, 0, tmp_path, disk=DiskConfig(tmp_path / "kv", 0))
    if has_folder:
        (tmp_path / "kv").mkdir()
    config = EngineConfig(
        model=ModelConfig(path=tiny_model, name="tiny"),
        cache=CacheConfig(tiers=tiers, secret=b"a secret of the tests", kv_memory=1 << 20),
        device=DeviceConfig(cache_dir=default_cache_dir()),
    )
    if redis_url != "off":
        config = config.with_fields(tiers=None, prefix_cache=False, unused_tiers=tiers)
    with LLM(config) as llm:
        llm.engine.core.erase([KEY])
        assert llm.engine.core.erased([KEY]) is is_made
