"""Prefixes of an idle tenant stay in device and CPU memory during another tenant's flood: real engine and LMCache."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from cache_tiers.config import TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.outputs import KVReceipt
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SpeculationConfig
from engine.llm import LLM
from tests.conftest import default_cache_dir
from tests.integration.engine_rig import BLOCK
from tests.leaks import assert_no_leaks
from tests.tiny_models import make_tiny_model

BLOCK_BYTES = 2 * 2 * 2 * 16 * BLOCK * 2
DEVICE_BLOCKS = 24
CPU_BLOCKS = 48
CHATS = [[4 + salt, *([7] * (4 * BLOCK + 16))] for salt in range(4)]
FLOOD = [[4 + salt, *([9] * (5 * BLOCK + 2))] for salt in range(60)]


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def llm(tiny_model: Path, tmp_path: Path) -> Iterator[LLM]:
    config = EngineConfig(
        model=ModelConfig(path=tiny_model, name="tiny"),
        cache=CacheConfig(
            tiers=TierConfig(CPU_BLOCKS * BLOCK_BYTES, "off", 0, tmp_path),
            secret=b"a secret of the tests",
            kv_memory=DEVICE_BLOCKS * BLOCK_BYTES,
        ),
        device=DeviceConfig(cache_dir=default_cache_dir()),
        speculation=SpeculationConfig(prompt_lookup=False),
    )
    with LLM(config) as llm:
        yield llm
        assert_no_leaks(llm.engine)


def ask(llm: LLM, prompt: Sequence[int], tenant: str) -> KVReceipt:
    """Generate one token and return the receipt, once both tiers hold the request's blocks as far as they fit."""
    request = llm.engine.add_request(
        GenerateRequest(prompt_token_ids=prompt, params=SamplingParams(temperature=0.0, max_tokens=1), tenant=tenant)
    )
    while llm.engine.has_unfinished_requests() or llm.engine.core.next_poll_seconds() is not None:
        llm.engine.step()
    assert request.receipt is not None
    return request.receipt


def test_flood_does_not_evict_chats_of_idle_tenant(llm: LLM) -> None:
    for chat in CHATS:
        ask(llm, chat, "quiet")
    for prompt in FLOOD:
        ask(llm, prompt, "flood")
    found = sum(ask(llm, chat, "quiet").cached for chat in CHATS)
    assert found >= 0.95 * sum(map(len, CHATS)), "the flood evicted blocks of another tenant"


def test_single_tenant_may_use_all_memory(llm: LLM) -> None:
    most = CPU_BLOCKS // 5 - 1
    for prompt in FLOOD[:most]:
        ask(llm, prompt, "flood")
    found = [ask(llm, prompt, "flood").cached for prompt in FLOOD[:most]]
    assert all(count >= 5 * BLOCK for count in found)


def test_stats_report_bytes_per_tenant(llm: LLM) -> None:
    ask(llm, CHATS[0], "quiet")
    ask(llm, FLOOD[0], "flood")
    stats = llm.engine.stats()
    assert stats.blocks.tenants == {"flood": 6 * BLOCK_BYTES, "quiet": 5 * BLOCK_BYTES}
    assert stats.tiers.cpu_tenants == {"flood": 5 * BLOCK_BYTES, "quiet": 5 * BLOCK_BYTES}
    assert stats.tiers.store is not None
    assert sum(stats.tiers.cpu_tenants.values()) == stats.tiers.store.cpu.used_bytes
