"""`python -m bench.family_step`: time of a native step per byte of weights, of each family against the Llama plan.

The Llama plan has the same sizes, and none of the family's rules. Both arms take turns, on random weights. Windows are
as long as the context. Prints a table, and writes bench/results/family_step.json and family_step.md. Exits with 1 if a
target is missed.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch

from bench.machine import Machine, describe_machine
from bench.report import RESULTS, Target, write_results
from bench.report_tables import table, targets_table
from bench.stats import median
from cache_tiers.layout.layout import BlockLayout
from engine.api.sampling_params import SamplingParams
from engine.attention.backend import kv_shapes
from engine.cpu.build import build_kernels
from engine.cpu.instruction_set import choose_instruction_set
from engine.cpu.library import Kernels
from engine.cpu.weights import PackedModel
from engine.sampling.sampler import SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.host_resources import usable_cores
from engine.worker.native.native_step import NativeRunner
from engine.worker.native.step_arrays import PAGE_KEYS
from models.decoder.config import DecoderConfig, LayerPlan
from models.decoder.model import DecoderForCausalLM
from models.decoder.rope import Rope
from models.registry import read_config

MOST_PER_BYTE: Final = 1.05
POSITIONS: Final = 4096
_GEMMA: Final = {
    "max_position_embeddings": POSITIONS,
    "sliding_window": POSITIONS,
    "vocab_size": 65_536,
    "attn_logit_softcapping": None,
}
_SMALL: Final = {
    "max_position_embeddings": POSITIONS,
    "vocab_size": 49_152,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
FAMILIES: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "gemma3": _GEMMA
        | {
            "architectures": ["Gemma3ForCausalLM"],
            "hidden_size": 1152,
            "intermediate_size": 6912,
            "num_hidden_layers": 26,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
        },
        "gemma2": _GEMMA
        | {
            "architectures": ["Gemma2ForCausalLM"],
            "hidden_size": 1536,
            "intermediate_size": 6144,
            "num_hidden_layers": 16,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 128,
        },
        "phi3": {
            "architectures": ["Phi3ForCausalLM"],
            "hidden_size": 1536,
            "intermediate_size": 4096,
            "num_hidden_layers": 20,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "vocab_size": 32_064,
            "partial_rotary_factor": 0.75,
            "max_position_embeddings": POSITIONS,
        },
        "qwen2": _SMALL | {"architectures": ["Qwen2ForCausalLM"]},
        "qwen3": _SMALL | {"architectures": ["Qwen3ForCausalLM"]},
        "smollm3": _SMALL | {"architectures": ["SmolLM3ForCausalLM"]},
        "ministral3": _SMALL | {"architectures": ["Ministral3ForCausalLM"]},
        "granite": _SMALL
        | {
            "architectures": ["GraniteForCausalLM"],
            "embedding_multiplier": 12.0,
            "attention_multiplier": 0.0078125,
            "residual_multiplier": 0.22,
            "logits_scaling": 8.0,
        },
    }
)
"""config.json of a model of 0.5 to 1 billion weights, by family."""


def llama_plan(config: DecoderConfig) -> DecoderConfig:
    """Return the Llama of the same sizes."""
    return DecoderConfig(
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        layers=(LayerPlan(),) * config.num_layers,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        vocab_size=config.vocab_size,
        max_position_embeddings=config.max_position_embeddings,
        ropes=(Rope(10000.0, None, 0),),
        rms_norm_eps=config.rms_norm_eps,
        tie_word_embeddings=config.tie_word_embeddings,
    )


class Arm:
    """One plan with random weights and its own blocks. weight_bytes: size of all weights that a step reads."""

    def __init__(self, kernels: Kernels, config: DecoderConfig, *, context: int, streams: int, threads: int) -> None:
        model = DecoderForCausalLM(config, dtype=torch.bfloat16, device=torch.device("cpu"))
        generator = torch.Generator().manual_seed(1)
        for slot in model.slots().values():
            slot.normal_(0, slot.shape[-1] ** -0.5, generator=generator)
        self.weight_bytes = sum(slot.nbytes for name, slot in model.slots().items() if slot.dim() == 2)
        self._packed = PackedModel(kernels, config, model, threads=usable_cores())
        self._pages = -(-(context + 1) // PAGE_KEYS)
        layout = BlockLayout(kv_shapes(self._packed.attention), PAGE_KEYS, torch.bfloat16.itemsize)
        pool = torch.zeros((streams * self._pages, layout.elements), dtype=torch.bfloat16)
        self._runner = NativeRunner(self._packed, pool, threads=threads)
        self._context = context

    def step(self, streams: int, tokens: int) -> float:
        """Compute `tokens` more of each stream, and return the milliseconds."""
        row = SamplingRow(SamplingParams(temperature=0.0), position=0, produced=0)
        before = self._context + 1 - tokens
        scheduled = [
            ScheduledRequest(
                request_id=str(i),
                token_ids=list(range(3, 3 + tokens)),
                context_len=before,
                block_ids=list(range(i * self._pages, (i + 1) * self._pages)),
                sampling=(row,),
            )
            for i in range(streams)
        ]
        computed = self._runner.compute(scheduled)
        return (computed.ended - computed.started) * 1e3


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a family and of the Llama, in the median.

    family_ms, llama_ms: milliseconds of `streams` streams with `tokens` tokens each.
    per_byte: ratio of the times per byte of weights.
    """

    family: str
    streams: int
    tokens: int
    family_ms: float
    llama_ms: float
    per_byte: float


@dataclass(frozen=True, slots=True)
class FamilyReport:
    """One run."""

    measured_on: str
    machine: Machine
    instruction_set: str
    threads: int
    rounds: int
    steps: tuple[Step, ...]


def targets(report: FamilyReport) -> list[Target]:
    """List the target of each family: its slowest kind of step, per byte of weights."""
    families = dict.fromkeys(step.family for step in report.steps)
    worst = {family: max(step.per_byte for step in report.steps if step.family == family) for family in families}
    return [
        Target(f"{family}: time per byte over the Llama's", most, MOST_PER_BYTE, at_least=False)
        for family, most in worst.items()
    ]


def to_markdown(report: FamilyReport) -> str:
    """Format the tables."""
    rows = [
        (
            step.family,
            f"{step.streams}",
            f"{step.tokens}",
            f"{step.family_ms:.2f}",
            f"{step.llama_ms:.2f}",
            f"{step.per_byte:.3f}",
        )
        for step in report.steps
    ]
    heading = (
        f"# Native steps of the families\n\nMeasured on {report.measured_on}: {report.machine.cpu}, {report.threads} "
        f"threads, {report.instruction_set}, random weights in bfloat16. Each figure is the median of "
        f"{report.rounds} rounds. Both plans take turns."
    )
    head = ("family", "streams", "tokens of each", "ms", "Llama of the same sizes, ms", "time per byte of weights")
    return "\n\n".join((heading, targets_table(targets(report)), table(head, rows))) + "\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print, and write family_step.json and family_step.md. Return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.family_step", description=__doc__)
    parser.add_argument("families", nargs="*", default=list(FAMILIES), help=f"among {', '.join(FAMILIES)}")
    parser.add_argument("--cache-dir", type=Path, default=Path("build/native"), help="folder of the compiled kernels")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--context", type=int, default=511)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--layers", type=int, default=0, help="number of layers; 0 for all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    chosen = choose_instruction_set("auto")
    kernels = Kernels(build_kernels(chosen, arguments.cache_dir, print))
    steps = [step for name in arguments.families for step in _measure(kernels, name, arguments)]
    today, machine = date.today().isoformat(), describe_machine()
    report = FamilyReport(today, machine, chosen.name, arguments.threads, arguments.rounds, tuple(steps))
    passed = all(target.met for target in targets(report))
    whole = asdict(report) | {"targets": [asdict(target) for target in targets(report)], "passed": passed}
    write_results(arguments.out, "family_step", whole, to_markdown(report))
    print(to_markdown(report))
    return 0 if passed else 1


def _measure(kernels: Kernels, name: str, arguments: argparse.Namespace) -> list[Step]:
    """Measure a family's decode of one and of eight streams, and a part of a prompt."""
    config = read_config(FAMILIES[name])
    config = replace(config, layers=config.layers[: arguments.layers or None])
    family, llama = (
        Arm(kernels, plan, context=arguments.context, streams=8, threads=arguments.threads)
        for plan in (config, llama_plan(config))
    )
    bytes_ratio = llama.weight_bytes / family.weight_bytes
    steps = []
    for streams, tokens in ((1, 1), (8, 1), (1, min(256, arguments.context))):
        pairs = [(family.step(streams, tokens), llama.step(streams, tokens)) for _ in range(arguments.rounds + 1)]
        # The first round warms the caches.
        ours, theirs = (median(times) for times in zip(*pairs[1:], strict=True))
        per_byte = bytes_ratio * median([a / b for a, b in pairs[1:]])
        steps.append(Step(name, streams, tokens, ours, theirs, per_byte))
        print(f"{name}: {streams} x {tokens} tokens, {per_byte:.3f} per byte", flush=True)
    return steps


if __name__ == "__main__":
    raise SystemExit(main())
