"""The real engine and model with small pools, so that evictions start after a few hundred tokens."""

import json
from collections.abc import Sequence
from pathlib import Path

from cache_tiers.config import DiskConfig, TierConfig
from engine.api.llm_outputs import CompletionOutput
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, SpeculationConfig
from engine.llm import LLM
from tests.conftest import default_cache_dir

BLOCK = 64
MIB = 1 << 20
SECRET = b"a secret of the tests"
CPU_BLOCKS = 400
"""Blocks in the CPU tier of most tests."""


def engine_config(
    model_path: Path,
    state_dir: Path,
    *,
    dtype: str = "bfloat16",
    blocks: int = 24,
    cpu_memory: int | None = None,
    redis_url: str = "auto",
    disk: bool = False,
    prefix_cache: bool = True,
) -> EngineConfig:
    """Configure an engine with a device pool of `blocks` blocks of the default model, or of one with fewer layers.

    Speculation is off: drafting depends on measured step times, so the contents of a step would vary between runs.

    dtype: bfloat16 runs on the native step, float32 on torch.
    disk: whether blocks go to a disk too, where they survive the engine.
    cpu_memory: size of the CPU tier in bytes. None stands for CPU_BLOCKS blocks, but from 64 to 256 MiB.
    """
    state_dir.mkdir(exist_ok=True)
    below = cpu_memory
    if below is None:
        below = min(256 * MIB, max(64 * MIB, CPU_BLOCKS * block_nbytes(model_path, dtype)))
    folder = DiskConfig(state_dir / "kv", 512 * MIB) if disk else None
    tiers = TierConfig(below, redis_url, 512 * MIB, state_dir, disk=folder)
    return EngineConfig(
        model=ModelConfig(path=model_path, name="smollm2", dtype=dtype),
        cache=CacheConfig(
            tiers=tiers if prefix_cache else None,
            secret=SECRET,
            kv_memory=blocks * block_nbytes(model_path, dtype),
            prefix_cache=prefix_cache,
        ),
        device=DeviceConfig(cache_dir=default_cache_dir()),
        speculation=SpeculationConfig(prompt_lookup=False),
    )


def block_nbytes(model_path: Path, dtype: str = "bfloat16") -> int:
    """Return the size of a KV block of the default model, or of one with fewer layers."""
    layers: int = json.loads((model_path / "config.json").read_text())["num_hidden_layers"]
    return layers * 2 * 3 * 64 * 64 * (4 if dtype == "float32" else 2)


def answer(llm: LLM, prompt: Sequence[int], count: int) -> CompletionOutput:
    """Generate exactly `count` greedy tokens, ignoring the end-of-sequence token."""
    params = SamplingParams(temperature=0.0, max_tokens=count, ignore_eos=True)
    return llm.generate([prompt], params)[0].outputs[0]


def fill_device(llm: LLM, salt: int) -> None:
    """Compute unrelated prompts until they have evicted every other block from the device.

    salt: prompts with different salts differ.
    """
    total = llm.engine.core.scheduler.blocks.pool.num_blocks
    blocks = min(8, total // 2)
    for index in range(-(-total // blocks)):
        answer(llm, [100 + (salt * 31 + index * 7 + at) % 900 for at in range(blocks * BLOCK)], 1)


def converse(llm: LLM, turns: int, user_tokens: int = 90, answer_tokens: int = 28) -> list[int]:
    """Generate a conversation of `turns` turns and return its token ids.

    The questions are synthetic; the answers are the model's own.
    """
    history: list[int] = []
    for turn in range(turns):
        history += [1000 + (turn * 131 + at * 17) % 20000 for at in range(user_tokens)]
        history += answer(llm, history, answer_tokens).token_ids
    return history
