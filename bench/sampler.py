"""`python -m bench.sampler`: cost of sampling settings in a step of 32 decodes, compared with 32 greedy rows.

One worker with the default model holds a batch for each kind of settings. The batches step in rotation, so all meet
the same conditions. A step is timed as the engine waits for it: filling rows, computing, and reading the tokens. Each
step is compared with the greedy step of the same turn.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Final

import torch

from app.config.settings import load_settings
from bench.machine import describe_machine
from bench.report import RESULTS, Target, show_results
from bench.stats import median
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.request.scheduler_output import CachedRequestData, NewRequestData, SchedulerOutput
from engine.sampling.masks import words_of_ids
from engine.worker.host_resources import usable_cores
from engine.worker.worker import Worker
from models.download.resolve import DEFAULT_MODEL, resolve_model

BLOCK: Final = 64
ROWS: Final = 32
MAX_OVER_GREEDY: Final = 1.15
GREEDY: Final = SamplingParams(temperature=0.0)
MIXED: Final = (
    GREEDY,
    SamplingParams(temperature=0.7),
    SamplingParams(temperature=0.8, top_p=0.95),
    SamplingParams(temperature=1.0, top_k=40, min_p=0.05),
    SamplingParams(temperature=0.0, repetition_penalty=1.1),
    SamplingParams(temperature=0.7, top_p=0.9, frequency_penalty=0.5, presence_penalty=0.3),
    SamplingParams(temperature=0.7, logit_bias=tuple((100 + i, 1.5) for i in range(100))),
    SamplingParams(temperature=0.0, bad_word_ids=((7,), (8,), (9, 10)), min_tokens=1000, stop_token_ids=(2,)),
)
KINDS: Final[Mapping[str, Sequence[SamplingParams]]] = MappingProxyType(
    {
        "greedy": (GREEDY,),
        "mixed": MIXED,
        "drawn": (SamplingParams(temperature=0.7),),
        "top_p": (SamplingParams(temperature=0.7, top_p=0.9),),
        "penalties": (SamplingParams(temperature=0.0, repetition_penalty=1.1, frequency_penalty=0.3),),
        "masks": (GREEDY,),
        "logprobs": (replace(GREEDY, logprobs=5),),
    }
)
"""Settings of the rows of each kind, in rotation. The rows of "masks" also have a mask of every second token."""


class Batch:
    """Requests that decode step by step.

    The blocks of request i are the i-th run of `blocks_of(context, steps)` ids from `first_block` on.
    """

    def __init__(
        self,
        worker: Worker,
        name: str,
        requests: Sequence[SamplingParams],
        first_block: int,
        *,
        context: int,
        steps: int,
        mask: bytes | None = None,
    ) -> None:
        """Start one request for each of `requests`, with a prompt of `context` tokens, under `mask` if there is one."""
        self._worker = worker
        self._names = [f"{name}-{index}" for index in range(len(requests))]
        self._computed = context
        self._masks = {} if mask is None else dict.fromkeys(self._names, mask)
        blocks = blocks_of(context, steps)
        new = [
            NewRequestData(
                request_id,
                tuple(100 + (at * 7 + index) % 20_000 for at in range(context + 1)),
                context + 1,
                tuple(range(first_block + index * blocks, first_block + (index + 1) * blocks)),
                context,
                replace(params, seed=index, max_tokens=steps + 1),
            )
            for index, (request_id, params) in enumerate(zip(self._names, requests, strict=True))
        ]
        self._submit(
            SchedulerOutput(
                step_id=0,
                new_requests=tuple(new),
                cached_requests=(),
                num_scheduled_tokens=dict.fromkeys(self._names, 1),
                masks=self._masks,
            )
        )

    def step(self) -> float:
        """Execute one step and return its milliseconds."""
        cached = tuple(CachedRequestData(name, (), self._computed) for name in self._names)
        step = SchedulerOutput(
            step_id=0,
            new_requests=(),
            cached_requests=cached,
            num_scheduled_tokens=dict.fromkeys(self._names, 1),
            masks=self._masks,
        )
        began = time.perf_counter()
        self._submit(step)
        return (time.perf_counter() - began) * 1e3

    def _submit(self, step: SchedulerOutput) -> None:
        self._worker.execute(step)
        self._computed += 1


def in_turns(batches: Mapping[str, Batch], steps: int) -> dict[str, list[float]]:
    """Return the milliseconds of `steps` steps of each batch. The batches take turns."""
    times: dict[str, list[float]] = {name: [] for name in batches}
    for _ in range(steps):
        for name, batch in batches.items():
            times[name].append(batch.step())
    return times


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one kind of settings.

    step_ms: median duration of a step.
    over_greedy: median ratio to the greedy step of the same turn.
    """

    kind: str
    step_ms: float
    over_greedy: float


def rows_of(times: Mapping[str, Sequence[float]]) -> list[Row]:
    """Aggregate the durations of the steps, which are in the order of the turns, by kind."""
    greedy = times["greedy"]
    return [
        Row(kind, median(each), median([one / alone for one, alone in zip(each, greedy, strict=True)]))
        for kind, each in times.items()
    ]


def targets_of(rows: Sequence[Row]) -> list[Target]:
    """List the targets of every kind but greedy itself."""
    return [
        Target(f"32 rows, {row.kind}: a step over one of 32 greedy rows", row.over_greedy, MAX_OVER_GREEDY, False)
        for row in rows
        if row.kind != "greedy"
    ]


def table(rows: Sequence[Row], steps: int) -> str:
    """Format the rows as Markdown."""
    lines = [
        f"{ROWS} rows on {usable_cores()} threads, {steps} steps of each kind in turns, {time.strftime('%Y-%m-%d')}.",
        "",
        f"| settings | step, ms | over greedy | at most {MAX_OVER_GREEDY} |",
        "| --- | ---: | ---: | --- |",
    ]
    for row in rows:
        verdict = "met" if row.over_greedy <= MAX_OVER_GREEDY else "missed"
        lines.append(f"| {row.kind} | {row.step_ms:.2f} | {row.over_greedy:.3f} | {verdict} |")
    return "\n".join(lines) + "\n"


def blocks_of(context: int, steps: int) -> int:
    """Return the number of blocks of one request."""
    return -(-(context + steps + 2) // BLOCK)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.sampler", description=__doc__)
    parser.add_argument("--model", type=Path, help="model folder; by default that of the default model")
    parser.add_argument("--steps", type=int, default=200, help="number of steps of each kind")
    parser.add_argument("--context", type=int, default=256, help="number of tokens before the first step")
    parser.add_argument("--kernels", default="auto", help="kernels, as in `ebb serve --cpu-kernels`")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    cache_dir = load_settings({}).cache_dir
    folder = arguments.model or resolve_model(DEFAULT_MODEL, cache_dir, print)
    worker = Worker(
        EngineConfig(
            model=ModelConfig(path=folder, name="bench"),
            cache=CacheConfig(tiers=None, secret=b"bench"),
            device=DeviceConfig(cpu_kernels=arguments.kernels, cache_dir=cache_dir, packed_size=0),
        )
    )
    worker.load()
    torch.set_num_threads(1)
    worker.init_kv(len(KINDS) * ROWS * blocks_of(arguments.context, arguments.steps))
    half = words_of_ids(range(0, worker.model.vocab_size, 2), worker.model.vocab_size).tobytes()
    batches = {
        name: Batch(
            worker,
            name,
            [kinds[index % len(kinds)] for index in range(ROWS)],
            number * ROWS * blocks_of(arguments.context, arguments.steps),
            context=arguments.context,
            steps=arguments.steps,
            mask=half if name == "masks" else None,
        )
        for number, (name, kinds) in enumerate(KINDS.items())
    }
    times = in_turns(batches, arguments.steps)
    rows = rows_of(times)
    targets = targets_of(rows)
    result = {
        "machine": asdict(describe_machine()),
        "rows": [asdict(row) for row in rows],
        "targets": [asdict(target) | {"met": target.met} for target in targets],
    }
    show_results(arguments.out, "sampler", result, table(rows, arguments.steps))
    return 0 if all(target.met for target in targets) else 1


if __name__ == "__main__":
    raise SystemExit(main())
