"""With the native step an answer does not depend on where its prefix came from, or on what else was asked."""

from dataclasses import replace
from pathlib import Path

from engine.llm import LLM
from engine.sampling_params import SamplingParams
from tests.integration.engine_rig import BLOCK, answer, converse, engine_config, fill_device
from tests.native_rig import KernelsFor

DRAWN = SamplingParams(temperature=0.9, seed=7, max_tokens=24, ignore_eos=True)


def test_a_conversation_goes_on_the_same_from_every_tier_and_computed_anew(
    model_path: Path, tmp_path: Path, kernels: KernelsFor
) -> None:
    cache_dir = kernels("auto").build.path.parent.parent
    config = replace(engine_config(model_path, tmp_path / "state"), cpu_kernels="auto", cache_dir=cache_dir)
    with LLM(config) as llm:
        prompt = [*converse(llm, 4), 5, 6, 7]
        full = (len(prompt) - 1) // BLOCK * BLOCK
        on_device = answer(llm, prompt, 32)
        assert on_device.usage.kv.device >= full
        fill_device(llm, 1)
        from_cpu = answer(llm, prompt, 32)
        assert from_cpu.usage.kv.cpu == full
        drawn = llm.generate([prompt], DRAWN)[0].token_ids
    with LLM(config) as llm:
        from_redis = answer(llm, prompt, 32)
        assert from_redis.usage.kv.redis == full
        llm.engine.check()

    nothing = replace(config, tiers=None, prefix_cache=False, kv_memory=config.kv_memory)
    with LLM(nothing) as llm:
        anew = answer(llm, prompt, 32)
        assert anew.usage.kv.computed == len(prompt)
        others = [[300 + (7 * at + line) % 900 for at in range(20 + 31 * line)] for line in range(7)]
        together = llm.generate([*others[:4], prompt, *others[4:]], DRAWN)[4]
    assert on_device.token_ids == from_cpu.token_ids == from_redis.token_ids == anew.token_ids
    assert together.token_ids == drawn


def test_requests_that_are_preempted_answer_as_if_they_had_not_been(
    model_path: Path, tmp_path: Path, kernels: KernelsFor
) -> None:
    cache_dir = kernels("auto").build.path.parent.parent
    config = replace(
        engine_config(model_path, tmp_path / "state", blocks=9, redis_url="off"),
        cpu_kernels="auto",
        cache_dir=cache_dir,
    )
    prompts = [[1000 + (at * 37 + line * 101) % 20000 for at in range(150)] for line in range(4)]
    params = SamplingParams(temperature=0.0, max_tokens=60, ignore_eos=True)
    with LLM(config) as llm:
        alone = [llm.generate([prompt], params)[0].token_ids for prompt in prompts]
    with LLM(config) as llm:
        together = [completion.token_ids for completion in llm.generate(prompts, params)]
        assert llm.engine.stats().preemptions > 0
    assert together == alone
