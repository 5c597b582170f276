"""Curves of the tiers' hits over their sizes, counted by a real engine."""

from pathlib import Path

import pytest

from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, answer, engine_config


def test_requests_count_in_the_curves_of_all_tiers(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=8, redis_url="off", disk=True)
    prompt = [200 + at for at in range(4 * BLOCK + 1)]
    with LLM(config) as llm:
        for _ in range(2):
            answer(llm, prompt, 1)
        reuse = llm.engine.stats().reuse
    assert set(reuse.counted) == {"device", "cpu", "disk"}
    assert reuse.counted["cpu"] == 2 * 4 * BLOCK
    # The second prompt is found in any tier with room for it, which two blocks of the device are not.
    rates = {tier: [found / reuse.asked[tier] for found in sizes.values()] for tier, sizes in reuse.found.items()}
    assert rates["cpu"][2:] == rates["disk"][2:] == pytest.approx([0.5] * 4)
    assert rates["device"][0] < 0.5 == pytest.approx(rates["device"][2])
    assert list(reuse.asked_by_tenant["cpu"].values()) == [reuse.asked["cpu"]]
    assert reuse.computing > 0


def test_engine_without_prefix_cache_counts_nothing(shallow_model: Path, tmp_path: Path) -> None:
    with LLM(engine_config(shallow_model, tmp_path / "state", prefix_cache=False)) as llm:
        answer(llm, [200 + at for at in range(2 * BLOCK)], 1)
        assert llm.engine.stats().reuse.counted == {}
