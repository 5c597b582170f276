"""A flood that computes blocks faster than they are copied to the lower tiers: every block still reaches Redis."""

from pathlib import Path

import pytest

from cache_tiers.config import TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SpeculationConfig
from engine.llm import LLM
from engine.scheduling import admission_order
from tests.conftest import default_cache_dir
from tests.integration.engine.test_memory_shares import BLOCK_BYTES, CHATS, FLOOD
from tests.redis_server import RedisServer
from tests.tiny_models import make_tiny_model
from tests.waiting import until

pytest_plugins = ["tests.store_fixtures"]

DEVICE_BLOCKS = 48
"""A quarter of the pool stays evictable without loss for an arriving tenant. That quarter holds two prompts."""
CPU_BLOCKS = 2 * DEVICE_BLOCKS
"""Half of them may wait for Redis: as many as the device has. More would be shed, at any speed of Redis."""

# A prompt waits for room only if loading it later takes less time than computing it. A tiny model computes too fast for
# that whenever Redis is slow for a moment.
pytestmark = pytest.mark.usefixtures("patient_loads")


@pytest.fixture(autouse=True)
def _patient_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a prompt wait for room for as long as a busy machine takes to copy blocks."""
    monkeypatch.setattr(admission_order, "MAX_HELD_BACK_SECONDS", 60.0)


def test_all_blocks_of_flood_and_quiet_tenant_reach_redis(redis_server: RedisServer, tmp_path: Path) -> None:
    config = EngineConfig(
        model=ModelConfig(path=make_tiny_model(tmp_path / "model"), name="tiny"),
        cache=CacheConfig(
            tiers=TierConfig(CPU_BLOCKS * BLOCK_BYTES, f"unix://{redis_server.socket}", 0, tmp_path),
            secret=b"a secret of the tests",
            kv_memory=DEVICE_BLOCKS * BLOCK_BYTES,
        ),
        device=DeviceConfig(cache_dir=default_cache_dir()),
        speculation=SpeculationConfig(prompt_lookup=False),
    )
    params = SamplingParams(temperature=0.0, max_tokens=1)
    chats, flood = [], []
    with LLM(config) as llm:
        store = llm.tiers.store
        assert store is not None
        for number, prompt in enumerate(FLOOD):
            flood.append(
                llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params, tenant="flood"))
            )
            if number % 15 == 0:
                chats.append(
                    llm.engine.add_request(
                        GenerateRequest(prompt_token_ids=CHATS[number // 15], params=params, tenant="quiet")
                    )
                )
            while llm.engine.has_unfinished_requests():
                llm.engine.step()
            until(lambda: not store.stats().pending_writes)
        while llm.engine.core.next_poll_seconds() is not None or store.stats().pending_writes:
            llm.engine.step()
        assert [store.num_known_below(chat.block_keys[:4]) for chat in chats] == [4] * 4
        assert [store.num_known_below(request.block_keys[:5]) for request in flood] == [5] * len(FLOOD)
        stats = llm.engine.stats()
        assert (stats.blocks.lost, store.stats().cpu.lost_blocks, store.stats().lower["redis"].shed_blocks) == (0, 0, 0)
