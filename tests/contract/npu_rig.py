"""Small engines and workers on the fake NPU, with a few blocks of 128 tokens."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from cache_tiers.config import TierConfig
from engine.api.llm_outputs import CompletionOutput
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SchedulerConfig, SpeculationConfig
from engine.llm import LLM
from engine.sampling.sampler import Sampler, SamplingRow
from engine.worker.torch.device_tables import DeviceTables
from tests.fake_npu.host_copies import HostCopies
from tests.integration.worker_driver import WorkerDriver

BLOCK = 128
LAYERS, KV_HEADS, HEAD_DIM = 2, 2, 128
BLOCK_NBYTES = LAYERS * 2 * KV_HEADS * BLOCK * HEAD_DIM * 2
GREEDY = SamplingParams(temperature=0.0)


def npu_config(
    model: Path, *, attention: str = "auto", graphs: bool = True, tiers: TierConfig | None = None, blocks: int = 16
) -> EngineConfig:
    return EngineConfig(
        model=ModelConfig(path=model, name="pangu"),
        cache=CacheConfig(
            tiers=tiers,
            secret=b"secret",
            block_size=BLOCK,
            kv_memory=blocks * BLOCK_NBYTES,
            prefix_cache=tiers is not None,
        ),
        scheduler=SchedulerConfig(max_num_seqs=4, max_num_batched_tokens=256),
        device=DeviceConfig(kind="npu", attention=attention, decode_graphs=graphs, check_operators=True),
        speculation=SpeculationConfig(prompt_lookup=False),
    )


def npu_driver(config: EngineConfig, num_blocks: int = 16) -> WorkerDriver:
    return WorkerDriver(config.model.path, config=config, num_blocks=num_blocks, host_blocks=6)


def prompt(salt: int, length: int) -> list[int]:
    """Make up a prompt of `length` byte tokens. Prompts with different salts share no block."""
    return [3 + (salt * 31 + at * (7 + salt) + at // 11) % 250 for at in range(length)]


def note_table_copies(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return a list that gets the numbers of elements that each write of block tables copies to the device."""
    copied: list[list[int]] = []

    def write(there: DeviceTables, tables: Sequence[Sequence[int]], num_lent: int) -> None:
        with HostCopies() as copies:
            kept(there, tables, num_lent)
        copied.append(copies.elements)

    kept = DeviceTables.write
    monkeypatch.setattr(DeviceTables, "write", write)
    return copied


def note_sampler_copies(monkeypatch: pytest.MonkeyPatch) -> list[HostCopies]:
    """Return a list that gets the copies to the host and from it in each call of the sampler."""
    copied: list[HostCopies] = []

    def sample(sampler: Sampler, logits: torch.Tensor, rows: Sequence[SamplingRow]) -> torch.Tensor:
        with HostCopies() as copies:
            tokens = kept(sampler, logits, rows)
        copied.append(copies)
        return tokens

    kept = Sampler.sample
    monkeypatch.setattr(Sampler, "sample", sample)
    return copied


def answers(llm: LLM, prompts: Sequence[Sequence[int]], count: int) -> list[CompletionOutput]:
    params = SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
    return [each.outputs[0] for each in llm.generate(list(prompts), params)]


def fill_device(llm: LLM) -> None:
    """Compute other prompts until every earlier block is evicted from the device."""
    blocks = llm.engine.core.scheduler.blocks.pool.num_blocks
    for salt in range(100, 100 + -(-blocks // 2)):
        answers(llm, [prompt(salt, 2 * BLOCK)], 1)
