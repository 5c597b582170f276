"""`python -m bench.native_step MODEL_FOLDER`: milliseconds per step, native by instruction set and torch, in rotation.

Measures the kernels, without a server or tiers. Prints a table. Compare machines by the ratios to torch.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import torch

from bench.stats import median
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.instruction_set import usable_instruction_sets
from engine.request.scheduler_output import NewRequestData, SchedulerOutput
from engine.worker.host_resources import usable_cores
from engine.worker.worker import Worker

BLOCK: Final = 64
GREEDY: Final = SamplingParams(temperature=0.0)


@dataclass(frozen=True, slots=True)
class Load:
    """`streams` requests, each with `context` computed tokens, that compute `tokens` more in one step."""

    name: str
    streams: int
    context: int
    tokens: int


def loads(context: int) -> tuple[Load, ...]:
    """List the measured loads: decoding alone and together, and a prompt."""
    decodes = (Load(f"decode {streams}", streams, context, 1) for streams in (1, 8, 32))
    return (*decodes, Load(f"prompt {context}", 1, 0, context))


class Arm:
    """One way to compute, with its own blocks."""

    def __init__(
        self,
        folder: Path,
        kernels: str,
        cache_dir: Path,
        *,
        num_blocks: int,
    ) -> None:
        self.name = kernels
        config = EngineConfig(
            model=ModelConfig(path=folder, name="bench"),
            cache=CacheConfig(tiers=None, secret=b"bench"),
            device=DeviceConfig(cpu_kernels=kernels, cache_dir=cache_dir, packed_size=0),
        )
        self._worker = Worker(config, progress=print)
        self._worker.load()
        self._worker.init_kv(num_blocks)
        self._torch_threads = 1 if self._worker.computes_elsewhere else usable_cores()
        self._steps = 0

    def step(self, load: Load) -> float:
        """Execute one step and return its milliseconds."""
        torch.set_num_threads(self._torch_threads)
        length = load.context + load.tokens
        blocks = -(-length // BLOCK)
        names = [str(index) for index in range(load.streams)]
        new = tuple(
            NewRequestData(
                name,
                tuple(100 + at % 900 for at in range(length)),
                length,
                tuple(range(index * blocks, index * blocks + blocks)),
                load.context,
                GREEDY,
            )
            for index, name in enumerate(names)
        )
        self._steps += 1
        step = SchedulerOutput(
            step_id=self._steps, new_requests=new, num_scheduled_tokens=dict.fromkeys(names, load.tokens)
        )
        seconds = self._worker.execute(step).seconds
        self._worker.execute(SchedulerOutput(step_id=self._steps, dropped_request_ids=tuple(names)))
        return seconds * 1e3


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.native_step", description=__doc__)
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--cache-dir", type=Path, default=Path("build/native"), help="folder of the compiled kernels")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--context", type=int, default=512)
    arguments = parser.parse_args(argv)
    blocks = 32 * (-(-(arguments.context + 1) // BLOCK))
    kinds = [*(each.name for each in usable_instruction_sets()), "onednn", "torch"]
    arms = [Arm(arguments.model, kind, arguments.cache_dir, num_blocks=blocks) for kind in kinds]
    print(
        f"{usable_cores()} threads, {time.strftime('%Y-%m-%d')}, median (least) of {arguments.rounds} rounds, ms a step"
    )
    for load in loads(arguments.context):
        times = {arm.name: [arm.step(load)] for arm in arms}
        for _ in range(arguments.rounds):
            for arm in arms:
                times[arm.name].append(arm.step(load))
        torch_median = median(times["torch"][1:])
        for name, values in times.items():
            middle, least = median(values[1:]), min(values[1:])
            print(f"{load.name:12} {name:12} {middle:8.1f} ({least:.1f})  {torch_median / middle:5.2f} times torch")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
