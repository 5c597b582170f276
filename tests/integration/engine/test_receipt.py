"""Receipts of requests on the real model, with each number checked against another."""

from pathlib import Path

import pytest

from engine.api.outputs import KVReceipt, Usage
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, answer, engine_config, fill_device

PROMPT = [1000 + (at * 7919) % 20000 for at in range(6 * BLOCK + 1)]


def check_phases(usage: Usage) -> None:
    """Assert that the phases add up to the time to the first token."""
    phases = usage.kv.phases
    assert phases.first_token == pytest.approx(usage.ttft_ms)
    assert min(phases.queue, phases.lookup, phases.load) >= 0
    assert phases.prefill > 0


def test_receipt_accounts_for_bytes_and_phases_of_every_tier(model_path: Path, tmp_path: Path) -> None:
    config = engine_config(model_path, tmp_path / "state", blocks=8, redis_url="off", disk=True)
    with LLM(config) as llm:
        first = answer(llm, PROMPT, 2).usage
        block_nbytes = llm.engine.stats().blocks.nbytes
        assert (first.kv.computed, first.kv.loaded_bytes["cpu"], first.kv.loaded_bytes["disk"]) == (len(PROMPT), 0, 0)
        assert first.kv.saved_ms is None, "the speed is unknown before the first prompt"
        on_device = answer(llm, PROMPT, 2).usage
        assert (on_device.kv.loaded_bytes["cpu"], on_device.kv.loaded_bytes["disk"], on_device.kv.blocks_verified) == (
            0,
            0,
            0,
        )
        assert on_device.kv.saved_ms is not None
        assert on_device.kv.saved_ms > 0
        assert (on_device.kv.phases.load, on_device.kv.phases.lookup) == (0, 0)
        fill_device(llm, 1)
        from_cpu = answer(llm, PROMPT, 2).usage
        assert (from_cpu.kv.loaded_bytes["cpu"], from_cpu.kv.loaded_bytes["disk"]) == (6 * block_nbytes, 0)
        assert from_cpu.kv.blocks_verified == 0
        assert from_cpu.kv.phases.lookup == 0, "blocks in CPU memory need no look-up"
        assert from_cpu.kv.phases.load > 0
        stats = llm.engine.stats()
        assert stats.tiers.copied_up == 6
        assert stats.tiers.copied_down >= 6
        assert stats.blocks.evicted >= 6
    with LLM(config) as llm:
        from_disk = answer(llm, PROMPT, 2).usage
        assert (from_disk.kv.loaded_bytes["cpu"], from_disk.kv.loaded_bytes["disk"]) == (0, 6 * block_nbytes)
        assert from_disk.kv.blocks_verified == 6
        assert from_disk.kv.phases.lookup > 0
        assert from_disk.kv.phases.load > 0
    for usage in (first, on_device, from_cpu, from_disk):
        check_phases(usage)


def test_prompt_without_an_answer_is_found_by_the_next(shallow_model: Path, tmp_path: Path) -> None:
    form = StructuredOutput("regex", "[a-z]+")
    with LLM(engine_config(shallow_model, tmp_path / "state", redis_url="off")) as llm:
        [made] = llm.generate([PROMPT], SamplingParams(max_tokens=0, presence_penalty=1.0, form=form))
        [alone] = made.outputs
        assert (alone.text, alone.token_ids, alone.finish_reason) == ("", (), "length")
        assert (alone.usage.kv.computed, alone.usage.completion_tokens) == (len(PROMPT), 0)
        check_phases(alone.usage)
        assert answer(llm, PROMPT, 2).usage.kv.cached == len(PROMPT) - 1


def test_follower_of_a_prefix_waits_in_the_queue_without_loads(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", cpu_memory=0, redis_url="off")
    params = SamplingParams(temperature=0.0, max_tokens=2, ignore_eos=True)
    with LLM(config) as llm:
        leader, follower = (done.outputs[0].usage for done in llm.generate([PROMPT, [*PROMPT, 7]], params))
    assert (leader.kv.reused["device"], follower.kv.reused["device"]) == (0, len(PROMPT) - 1)
    assert follower.kv.phases.queue > leader.kv.phases.queue
    assert (follower.kv.phases.lookup, follower.kv.phases.load) == (0, 0)
    check_phases(leader)
    check_phases(follower)


def test_phases_of_preempted_requests_add_up(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=6, redis_url="off", cpu_memory=0)
    prompts = [[600 + index * 50 + at for at in range(90)] for index in range(3)]
    with LLM(config) as llm:
        done = llm.generate(prompts, SamplingParams(temperature=0.0, max_tokens=50, ignore_eos=True))
        assert llm.engine.core.scheduler.num_preemptions > 0
    for usage in (each.outputs[0].usage for each in done):
        check_phases(usage)
        kv: KVReceipt = usage.kv
        assert kv.cached + kv.computed == usage.prompt_tokens
