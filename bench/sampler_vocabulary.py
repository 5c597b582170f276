"""`python -m bench.sampler_vocabulary`: cost of sampling settings at large vocabularies, compared with greedy rows.

The models have random weights and the shape of a Qwen3 of half a billion weights. Their logits differ in spread:

- peaked: the scores of tokens spread as those of a trained model, so that few tokens have most of the mass.
- flat: tens of thousands of tokens have most of the mass. This is the worst case of top_p.

The batches of one model take turns, and each step is compared with the greedy step of the same turn.
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

import torch

from app.config.settings import load_settings
from bench.machine import describe_machine
from bench.random_llama import write_random_llama
from bench.report import RESULTS, Target, show_results
from bench.sampler import BLOCK, GREEDY, MAX_OVER_GREEDY, Batch, blocks_of, in_turns
from bench.stats import median
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.worker.host_resources import usable_cores
from engine.worker.worker import Worker
from models.download.resolve import DEFAULT_MODEL, resolve_model

SHAPE: Final = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "tie_word_embeddings": True,
}
SPREADS: Final[Mapping[str, float]] = MappingProxyType({"peaked": 4.0, "flat": 1.0})
"""Standard deviation of a row's logits: the factor of the last norm."""
DRAWN: Final = SamplingParams(temperature=0.7)
KINDS: Final[Mapping[str, SamplingParams]] = MappingProxyType(
    {
        "greedy": GREEDY,
        "temperature": DRAWN,
        "top_p": replace(DRAWN, top_p=0.9),
        "top_k": replace(DRAWN, top_k=40),
        "min_p": replace(DRAWN, min_p=0.05),
        "top_p, top_k, penalties": replace(
            DRAWN, top_p=0.9, top_k=40, repetition_penalty=1.1, frequency_penalty=0.5, presence_penalty=0.3
        ),
        "logprobs": replace(GREEDY, logprobs=20),
    }
)


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one kind of settings.

    step_ms: median duration of a step.
    over_greedy: median ratio to the greedy step of the same turn.
    """

    vocabulary: int
    logits: str
    rows: int
    kind: str
    step_ms: float
    over_greedy: float

    @property
    def target(self) -> Target:
        """The target of this kind."""
        name = f"{self.vocabulary} ids, {self.logits}, {self.rows} rows, {self.kind}: a step over a greedy one"
        return Target(name, self.over_greedy, MAX_OVER_GREEDY, False)


def measure(folder: Path, vocabulary: int, logits: str, rows: Sequence[int], args: argparse.Namespace) -> list[Row]:
    """Measure every kind of settings with each number of rows on the model in `folder`."""
    cache_dir = load_settings({}).cache_dir
    config = EngineConfig(
        model=ModelConfig(path=folder, name="bench"),
        cache=CacheConfig(tiers=None, secret=b"bench"),
        device=DeviceConfig(cpu_kernels=args.kernels, cache_dir=cache_dir, packed_size=0),
    )
    worker = Worker(config.with_fields(kind=args.device, block_size=BLOCK))
    worker.load()
    torch.set_num_threads(1)
    each = blocks_of(args.context, args.steps)
    worker.init_kv(len(KINDS) * sum(rows) * each)
    results, first_block = [], 0
    for count in rows:
        batches = {}
        for kind, params in KINDS.items():
            name = f"{count} {kind}"
            batches[kind] = Batch(worker, name, [params] * count, first_block, context=args.context, steps=args.steps)
            first_block += count * each
        times = in_turns(batches, args.steps)
        for kind, own in times.items():
            ratios = [one / alone for one, alone in zip(own, times["greedy"], strict=True)]
            results.append(Row(vocabulary, logits, count, kind, median(own), median(ratios)))
    return results


def table(rows: Sequence[Row], steps: int, device: str) -> str:
    """Format the rows as Markdown. device: its name, or the number of threads of a CPU."""
    lines = [
        f"{device}, {steps} steps of each kind in turns, {time.strftime('%Y-%m-%d')}.",
        "",
        f"| ids | logits | rows | settings | step, ms | over greedy | at most {MAX_OVER_GREEDY} |",
        "| ---: | --- | ---: | --- | ---: | ---: | --- |",
    ]
    for row in rows:
        verdict = "met" if row.target.met else "missed"
        lines.append(
            f"| {row.vocabulary} | {row.logits} | {row.rows} | {row.kind} | {row.step_ms:.2f} "
            f"| {row.over_greedy:.3f} | {verdict} |"
        )
    return "\n".join(lines) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.sampler_vocabulary", description=__doc__)
    parser.add_argument("--vocabulary", type=int, nargs="+", default=[151_936, 262_144], help="sizes of vocabularies")
    parser.add_argument("--logits", nargs="+", choices=list(SPREADS), default=list(SPREADS), help="spreads of logits")
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 32], help="numbers of rows")
    parser.add_argument("--layers", type=int, default=SHAPE["num_hidden_layers"], help="number of layers")
    parser.add_argument("--steps", type=int, default=100, help="number of steps of each kind")
    parser.add_argument("--context", type=int, default=128, help="number of tokens before the first step")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu", help="device of the model")
    parser.add_argument("--kernels", default="auto", help="kernels, as in `ebb serve --cpu-kernels`")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    source = resolve_model(DEFAULT_MODEL, load_settings({}).cache_dir, print)
    rows: list[Row] = []
    for vocabulary in arguments.vocabulary:
        for logits in arguments.logits:
            with TemporaryDirectory() as parent:
                changes = SHAPE | {"vocab_size": vocabulary, "num_hidden_layers": arguments.layers}
                write_random_llama(source, Path(parent), changes, last_norm=SPREADS[logits])
                rows += measure(Path(parent), vocabulary, logits, arguments.rows, arguments)
    device = f"{usable_cores()} threads" if arguments.device == "cpu" else torch.cuda.get_device_name()
    result = {
        "machine": asdict(describe_machine()),
        "device": device,
        "rows": [asdict(row) for row in rows],
        "targets": [asdict(row.target) | {"met": row.target.met} for row in rows],
    }
    name = "sampler_vocabulary" if arguments.device == "cpu" else f"sampler_vocabulary_{arguments.device}"
    text = table(rows, arguments.steps, device)
    show_results(arguments.out, name, result, text)
    return 0 if all(row.target.met for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
