"""`python -m bench.quality MODEL_FOLDER`: quality lost by weight formats and instruction sets.

Each arm predicts every position of the texts in bench/quality_text, and is compared with torch in float32. The native
step's logits are those of the server, bit for bit. Torch computes whole texts at once. Writes quality.json and
quality.md. The numbers depend on the build, not on how busy the machine is.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import torch

from app.observability.percentiles import percentile
from bench.machine import Machine, describe_machine
from bench.report import RESULTS, show_results
from bench.stats import share
from engine.api.sampling_params import SamplingParams
from engine.cpu.build import build_kernels
from engine.cpu.instruction_set import choose_instruction_set, usable_instruction_sets
from engine.cpu.library import BFLOAT16_FORMATS, Kernels
from engine.cpu.weights import PackedModel
from engine.sampling.sampler import SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.host_resources import usable_cores
from engine.worker.native.native_step import NativeRunner
from engine.worker.native.step_arrays import PAGE_KEYS
from models.decoder.model import DecoderForCausalLM
from models.interface.dense_context import DenseContext
from models.registry import load_model, read_config
from models.tokenizers.text_tokenizer import load_tokenizer
from models.weights.folder import ModelFolder

TEXTS: Final = Path(__file__).parent / "quality_text"
TEXTS_AT_ONCE: Final = 3
ROWS_AT_ONCE: Final = 64
GREEDY: Final = SamplingParams(temperature=0.0)

Arm = Callable[[Sequence[Sequence[int]]], list[torch.Tensor]]
"""Function that returns, for each text, the logits after each of its tokens: [tokens, vocab] float32."""


@dataclass(frozen=True, slots=True)
class Positions:
    """Predictions of one arm, position by position, in nats.

    divergence: KL divergence from the reference's distribution.
    agrees: whether both predict the same token as the likeliest.
    surprise: negative log-probability of the text's next token.
    """

    divergence: Sequence[float]
    agrees: Sequence[bool]
    surprise: Sequence[float]


@dataclass(frozen=True, slots=True)
class Quality:
    """Result of one arm over all texts.

    greedy_agreement: share from 0 to 1.
    perplexity: perplexity of the texts.
    """

    arm: str
    kl_mean: float
    kl_p99: float
    greedy_agreement: float
    perplexity: float


@dataclass(frozen=True, slots=True)
class QualityReport:
    """One run.

    tokens: number of compared positions by text.
    """

    measured_on: str
    model: str
    machine: Machine
    tokens: dict[str, int]
    arms: tuple[Quality, ...]


class TorchArm:
    """The torch model in one dtype."""

    def __init__(self, folder: Path, dtype: torch.dtype) -> None:
        self._model = load_model(folder, dtype, torch.device("cpu"))

    def __call__(self, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """See `Arm`."""
        return [self._logits(tokens) for tokens in texts]

    @torch.inference_mode()
    def _logits(self, tokens: Sequence[int]) -> torch.Tensor:
        hidden = self._model.forward(
            torch.tensor(tokens), torch.arange(len(tokens)), DenseContext(self._model.attention)
        )
        return self._model.compute_logits(hidden)


class NativeArm:
    """The native step, one token at a time. A server would compute the same bits for these texts."""

    def __init__(self, folder: Path, kernels: Kernels, weights: str, *, longest: int, level: bool = True) -> None:
        """longest: length of the longest text. level: see PackedModel."""
        config = read_config(ModelFolder(folder).config())
        model = load_model(folder, torch.bfloat16, torch.device("cpu"))
        assert isinstance(model, DecoderForCausalLM)
        packed = PackedModel(kernels, config, model, threads=usable_cores(), weights=weights, level=level)
        blocks = list(range(-(-longest // PAGE_KEYS) * TEXTS_AT_ONCE))
        self._tables = [blocks[text::TEXTS_AT_ONCE] for text in range(TEXTS_AT_ONCE)]
        shape = (len(blocks), config.num_layers, 2, config.num_kv_heads, PAGE_KEYS, config.head_dim)
        # One thread computes the same bits as many, and never waits for other threads on a busy machine.
        self._runner = NativeRunner(packed, torch.zeros(shape, dtype=torch.bfloat16), threads=1)

    def __call__(self, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """See `Arm`."""
        rows: list[list[torch.Tensor]] = [[] for _ in texts]
        for position in range(max(len(tokens) for tokens in texts)):
            left = [text for text, tokens in enumerate(texts) if position < len(tokens)]
            sampling = SamplingRow(GREEDY, position=position + 1, produced=0)
            batch = [
                ScheduledRequest(
                    request_id=str(text),
                    token_ids=[texts[text][position]],
                    context_len=position,
                    block_ids=self._tables[text],
                    sampling=(sampling,),
                )
                for text in left
            ]
            logits = self._runner.compute(batch, range(len(batch))).logits
            for text, row in zip(left, logits, strict=True):
                rows[text].append(row)
        return [torch.stack(each) for each in rows]


def compare(logits: torch.Tensor, reference: torch.Tensor, targets: Sequence[int]) -> Positions:
    """Compare logits with the reference's. Pure.

    logits, reference: [positions, vocab] float32.
    targets: token ids that come next in the text.
    """
    divergence: list[float] = []
    surprise: list[float] = []
    for start in range(0, len(targets), ROWS_AT_ONCE):
        rows = slice(start, min(start + ROWS_AT_ONCE, len(targets)))
        # float64 loses less precision than float32 over a whole vocabulary.
        ours, theirs = (each[rows].double().log_softmax(-1) for each in (logits, reference))
        divergence += (theirs.exp() * (theirs - ours)).sum(-1).tolist()
        surprise += (-ours[range(len(ours)), torch.tensor(targets[rows])]).tolist()
    agrees = (logits.argmax(-1) == reference.argmax(-1))[: len(targets)].tolist()
    return Positions(divergence, agrees, surprise)


def summarise(arm: str, texts: Sequence[Positions]) -> Quality:
    """Aggregate the texts of one arm. All positions count equally."""
    divergence = [value for text in texts for value in text.divergence]
    surprise = torch.tensor([value for text in texts for value in text.surprise], dtype=torch.float64)
    return Quality(
        arm=arm,
        kl_mean=sum(divergence) / len(divergence),
        kl_p99=percentile(divergence, 99),
        greedy_agreement=share([flag for text in texts for flag in text.agrees]),
        perplexity=float(surprise.mean().exp()),
    )


def to_markdown(report: QualityReport) -> str:
    """Format the table."""
    machine = report.machine
    lines = [
        "# Quality",
        "",
        f"{report.model}, {sum(report.tokens.values()):,} positions of {len(report.tokens)} texts (prose, a manual, a "
        f"conversation, code, German, French and Spanish, records) against torch in float32. "
        f"Measured on {report.measured_on}: {machine.cpu}, torch {machine.versions.get('torch', 'unknown')}.",
        "",
        "| arm | KL, mean | KL, p99 | greedy agreement | perplexity |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {each.arm} | {each.kl_mean:.5f} | {each.kl_p99:.4f} | {each.greedy_agreement:.2%} | {each.perplexity:.3f} |"
        for each in report.arms
    ]
    lines += [
        "",
        "KL: divergence from float32's distribution, in nats. Greedy agreement: positions where the likeliest token is "
        "float32's.",
    ]
    return "\n".join(lines) + "\n"


def make_arms(folder: Path, cache_dir: Path, longest: int) -> dict[str, Arm]:
    """Create the arms: torch in bfloat16, and the native step in every weight format.

    The native step runs with bf16 activations, on the best instructions, and with float ones. `longest` is the number
    of tokens of the longest text.
    """
    arms: dict[str, Arm] = {"torch bfloat16": TorchArm(folder, torch.bfloat16)}
    usable = [each.name for each in usable_instruction_sets()]
    for name in dict.fromkeys((usable[0], "avx2" if "avx2" in usable else "portable")):
        kernels = Kernels(build_kernels(choose_instruction_set(name), cache_dir, print))
        for weights in BFLOAT16_FORMATS:
            arms[f"native {weights}, {name}"] = NativeArm(folder, kernels, weights, longest=longest)
    return arms


def measure(folder: Path, cache_dir: Path) -> QualityReport:
    """Run every arm on every text."""
    tokenizer = load_tokenizer(folder)
    texts = {
        file.stem: tokenizer.encode(file.read_text(encoding="utf-8"), special=False)
        for file in sorted(TEXTS.glob("*.txt"))
    }
    reference = TorchArm(folder, torch.float32)
    arms = make_arms(folder, cache_dir, max(len(tokens) for tokens in texts.values()))
    found: dict[str, list[Positions]] = {name: [] for name in ("torch float32", *arms)}
    names = list(texts)
    for start in range(0, len(names), TEXTS_AT_ONCE):
        group = [texts[name] for name in names[start : start + TEXTS_AT_ONCE]]
        exact = reference(group)
        for name in found:
            print(f"{', '.join(names[start : start + TEXTS_AT_ONCE])}: {name}", flush=True)
            logits = arms[name](group) if name in arms else exact
            found[name] += [compare(*each) for each in zip(logits, exact, (text[1:] for text in group), strict=True)]
    return QualityReport(
        measured_on=time.strftime("%Y-%m-%d"),
        model=folder.name,
        machine=describe_machine(),
        tokens={text: len(tokens) - 1 for text, tokens in texts.items()},
        arms=tuple(summarise(name, positions) for name, positions in found.items()),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality", description=__doc__)
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("--cache-dir", type=Path, default=Path("build/native"), help="folder of the compiled kernels")
    parser.add_argument("--out", type=Path, default=RESULTS, help="output folder of quality.json and quality.md")
    arguments = parser.parse_args(argv)
    report = measure(arguments.model, arguments.cache_dir)
    table = to_markdown(report)
    show_results(arguments.out, "quality", asdict(report), table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
