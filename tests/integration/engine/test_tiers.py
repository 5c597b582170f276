"""KV restored from each tier on the real model, with real LMCache and Redis: answers equal recomputed ones."""

from pathlib import Path

import pytest

from cache_tiers.owners.block_key import Owner
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, answer, converse, engine_config, fill_device
from tests.leaks import assert_no_leaks
from tests.sizes import Size
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("patient_loads")


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_long_conversation_continues_the_same_from_every_tier(
    shallow_model: Path, tmp_path: Path, dtype: str, size: Size
) -> None:
    # torch computes float32 many times slower than the native step. The last answer fills the block that it begins in.
    few = {"turns": 2, "user_tokens": 119, "answer_tokens": 6}
    talk, count = size.pick(small=(few, 8) if dtype == "float32" else ({"turns": 3}, 32), full=({"turns": 10}, 64))
    config = engine_config(
        shallow_model,
        tmp_path / "state",
        dtype=dtype,
        blocks=size.pick(small=8, full=40),
        cpu_memory=size.pick(small=64 << 20, full=1 << 30),
        redis_url="off",
        disk=True,
    )
    with LLM(config) as llm:
        prompt = [*converse(llm, **talk), 5, 6, 7]
        full = (len(prompt) - 1) // BLOCK * BLOCK
        on_device = answer(llm, prompt, count)
        # On the device even the partial block is still cached. Every token of the previous turns is found there, except
        # the last one, whose KV no step has computed.
        assert (on_device.usage.kv.reused["device"], on_device.usage.kv.computed) == (len(prompt) - 4, 4)

        fill_device(llm, 1)
        from_cpu = answer(llm, prompt, count)
        assert (from_cpu.usage.kv.reused["cpu"], from_cpu.usage.kv.computed) == (full, len(prompt) - full)
        assert from_cpu.token_ids == on_device.token_ids

    with LLM(config) as llm:
        from_disk = answer(llm, prompt, count)
        assert (from_disk.usage.kv.reused["disk"], from_disk.usage.kv.computed) == (full, len(prompt) - full)
        assert from_disk.token_ids == on_device.token_ids
        assert_no_leaks(llm.engine)

    with LLM(engine_config(shallow_model, tmp_path / "other", dtype=dtype, prefix_cache=False)) as llm:
        recomputed = answer(llm, prompt, count)
    assert recomputed.usage.kv.computed == len(prompt)
    assert recomputed.token_ids == on_device.token_ids


def test_blocks_loaded_from_the_disk_stay_in_cpu_memory(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=8, redis_url="off", disk=True)
    prompt = [200 + at for at in range(4 * BLOCK + 1)]
    with LLM(config) as llm:
        answer(llm, prompt, 1)
    with LLM(config) as llm:
        assert answer(llm, prompt, 1).usage.kv.reused["disk"] == 4 * BLOCK
        fill_device(llm, 2)
        assert answer(llm, prompt, 1).usage.kv.reused["cpu"] == 4 * BLOCK


def test_redis_tier_works_without_cpu_memory(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=8, cpu_memory=0)
    prompt = [300 + at for at in range(6 * BLOCK + 1)]
    with LLM(config) as llm:
        first = answer(llm, prompt, 8)
        until(lambda: _step_and_see(llm, 6))
        fill_device(llm, 3)
        again = answer(llm, prompt, 8)
    assert again.usage.kv.reused["redis"] == 6 * BLOCK
    assert again.token_ids == first.token_ids


def _step_and_see(llm: LLM, blocks: int) -> bool:
    llm.engine.step()
    stats = llm.engine.stats().tiers.store
    assert stats is not None
    return stats.lower["redis"].stored_blocks >= blocks


def test_cpu_tier_works_without_redis(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=8, redis_url="off")
    prompt = [400 + at for at in range(6 * BLOCK + 1)]
    with LLM(config) as llm:
        answer(llm, prompt, 1)
        fill_device(llm, 4)
        kv = answer(llm, prompt, 1).usage.kv
        assert (kv.reused["cpu"], kv.reused["redis"]) == (6 * BLOCK, 0)
        assert llm.tiers.notes["redis"] == "off: --redis-url off"


def test_every_token_is_computed_without_prefix_cache(shallow_model: Path, tmp_path: Path) -> None:
    with LLM(engine_config(shallow_model, tmp_path / "state", prefix_cache=False)) as llm:
        prompt = list(range(100, 300))
        answer(llm, prompt, 1)
        assert answer(llm, prompt, 1).usage.kv.computed == 200


def test_preempted_batch_equals_separate_requests(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", dtype="float32", blocks=6, redis_url="off", cpu_memory=0)
    prompts = [[600 + index * 50 + at for at in range(110)] for index in range(3)]
    params = SamplingParams(temperature=0.0, max_tokens=24, ignore_eos=True)
    with LLM(config) as llm:
        together = [each.outputs[0].token_ids for each in llm.generate(prompts, params)]
        assert llm.engine.core.scheduler.num_preemptions > 0
        assert_no_leaks(llm.engine)
        alone = [llm.generate([prompt], params)[0].outputs[0].token_ids for prompt in prompts]
    assert together == alone


def test_self_checks_are_counted_as_clean_or_failed(shallow_model: Path, tmp_path: Path) -> None:
    with LLM(engine_config(shallow_model, tmp_path / "state", redis_url="off")) as llm:
        assert_no_leaks(llm.engine)
        assert llm.engine.stats().blocks.checks == {"clean": 1, "failed": 0}
        llm.engine.core.scheduler.blocks.pool.allocate(1, Owner(b"nobody.."))
        with pytest.raises(AssertionError, match="belongs to no request"):
            assert_no_leaks(llm.engine)
        assert llm.engine.stats().blocks.checks == {"clean": 1, "failed": 1}
