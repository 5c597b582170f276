"""KV memory of an engine by default, and the log line that reports it."""

from pathlib import Path

import pytest

from app.config.settings import load_settings
from app.doctor.memory_plan import plan_memory
from cache_tiers.config import TierConfig
from engine.api.errors import EngineError
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from tests.tiny_models import make_tiny_model

WINDOW = 4096
TOKEN_BYTES = 2 * 2 * 2 * 16 * 4
"""KV bytes per token of the tiny model: layers, K and V, heads, head_dim, float32."""


def config(model: Path, tiers: TierConfig | None, kv_memory: int = 0) -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=model, name="tiny", dtype="float32"),
        cache=CacheConfig(tiers=tiers, secret=b"secret", kv_memory=kv_memory),
    )


def test_default_pool_holds_three_windows_and_is_logged(tmp_path: Path) -> None:
    model = make_tiny_model(tmp_path / "model")
    tiers = TierConfig(None, "off", 0, tmp_path)
    said: list[str] = []
    with LLM(config(model, tiers), progress=said.append) as llm:
        stats = llm.engine.stats()
        assert stats.blocks.total * 64 == 3 * WINDOW
        assert stats.tiers.store is not None
        assert stats.tiers.store.cpu.capacity_bytes == 3 * 3 * WINDOW * TOKEN_BYTES
    (line,) = [line for line in said if line.startswith("KV memory:")]
    assert line.startswith("KV memory: 6 MiB (of ")
    assert line.endswith(" MiB free) for 12288 tokens in 192 blocks of 0.03 MiB")


def test_doctor_plans_the_memory_that_the_engine_takes(tmp_path: Path) -> None:
    model = make_tiny_model(tmp_path / "model")
    settings = load_settings(
        {"dtype": "float32", "redis-url": "off", "disk-kv-size": "0"}, environ={"HOME": str(tmp_path)}
    )
    plan = plan_memory(settings, model, free=1 << 40)
    assert (plan.device_pool, plan.cpu_pool) == (3 * WINDOW * TOKEN_BYTES, 9 * WINDOW * TOKEN_BYTES)
    small = plan_memory(settings, model, free=1 << 20)
    assert small.device_pool == int(((1 << 20) - small.weights) * 0.2)


def test_draft_model_adds_its_weights_and_kv_to_plan_and_pool(tmp_path: Path) -> None:
    model, draft = make_tiny_model(tmp_path / "model"), make_tiny_model(tmp_path / "draft", layers=1)
    flags = {"dtype": "float32", "redis-url": "off", "disk-kv-size": "0", "draft-model": str(draft)}
    environ = {"HOME": str(tmp_path)}
    plan = plan_memory(load_settings(flags, environ=environ), model, free=1 << 40)
    alone = plan_memory(load_settings(flags | {"draft-model": str(model)}, environ=environ), model, free=1 << 40)
    assert plan.device_pool == 3 * WINDOW * TOKEN_BYTES * 3 // 2
    assert plan.weights < alone.weights
    with LLM(config(model, None).with_fields(draft_model=draft)) as llm:
        assert llm.engine.stats().blocks.total * 64 == 3 * WINDOW
        assert llm.engine.stats().blocks.nbytes == 64 * TOKEN_BYTES
    with LLM(config(model, None, kv_memory=60 * 64 * TOKEN_BYTES).with_fields(draft_model=draft)) as llm:
        assert llm.engine.stats().blocks.total == 40


def test_pool_smaller_than_a_block_is_refused_with_its_minimum(tmp_path: Path) -> None:
    model = make_tiny_model(tmp_path / "model")
    with pytest.raises(
        EngineError, match=r"hold one block of 0.0 MiB \(64 tokens\)\. .* to at least 1MiB for 2048 tokens"
    ):
        LLM(config(model, None, kv_memory=1000))
