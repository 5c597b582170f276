"""`python -m bench.outliers MODEL_FOLDER`: quality of four and eight bits on weights with outlier columns.

One column in a hundred of the matrices after a norm is multiplied by 16, and the norm's weight is divided by it, which
leaves every float result as it is. A group of 32 weights with such a column has a scale that is too coarse for the
others. The arms quantize with and without levelling (engine/cpu/levelling.py). Writes outliers.json and outliers.md.
The numbers depend on the build, not on how busy the machine is.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import product
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

import torch
from safetensors.torch import load_file, save_file

from bench.machine import describe_machine
from bench.quality import TEXTS, TEXTS_AT_ONCE, NativeArm, Quality, TorchArm, compare, summarise
from bench.report import RESULTS, write_results
from engine.cpu.build import build_kernels
from engine.cpu.instruction_set import choose_instruction_set
from engine.cpu.library import Kernels
from models.tokenizers.text_tokenizer import load_tokenizer

FACTOR: Final = 16.0
SHARE: Final = 0.01
FORMATS: Final = ("int8", "int4")
CONSUMERS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "input_layernorm": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
        "post_attention_layernorm": ("mlp.gate_proj", "mlp.up_proj"),
    }
)
"""The matrices that read the result of a norm, by the norm's name in a layer of Llama."""

Weights = dict[str, torch.Tensor]
Change = Callable[[Weights], None]


def norms(weights: Weights) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each norm before a matrix, and the names of its matrices."""
    for name in weights:
        prefix, _, norm = name.removesuffix(".weight").rpartition(".")
        if norm in CONSUMERS:
            yield name, [f"{prefix}.{matrix}.weight" for matrix in CONSUMERS[norm]]


def scale_columns(weights: Weights, norm: str, matrices: Sequence[str], factors: torch.Tensor) -> None:
    """Multiply the columns of `matrices` by `factors` [size], and divide the norm's weight by them."""
    for name in matrices:
        weights[name] = (weights[name].float() * factors).to(weights[name].dtype)
    weights[norm] = (weights[norm].float() / factors).to(weights[norm].dtype)


def add_outliers(weights: Weights) -> None:
    """Make one column in a hundred an outlier, others in each layer."""
    generator = torch.Generator().manual_seed(3)
    for norm, matrices in norms(weights):
        size = len(weights[norm])
        factors = torch.ones(size)
        factors[torch.randperm(size, generator=generator)[: max(1, int(SHARE * size))]] = FACTOR
        scale_columns(weights, norm, matrices, factors)


CHANGES: Final[Mapping[str, Change]] = MappingProxyType({"as published": lambda _: None, "with outliers": add_outliers})


def changed(source: Path, target: Path, change: Change) -> Path:
    """Write the model of `source` into `target`, with changed weights."""
    for file in source.iterdir():
        if file.suffix == ".json":
            copyfile(file, target / file.name)
    [file] = source.glob("*.safetensors")
    weights = load_file(file)
    change(weights)
    save_file(weights, target / file.name, metadata={"format": "pt"})
    return target


def measure(model: Path, cache_dir: Path) -> list[Quality]:
    """Compare each format on each variant of the weights with torch in float32."""
    tokenizer = load_tokenizer(model)
    files = sorted(TEXTS.glob("*.txt"))[:TEXTS_AT_ONCE]
    texts = [tokenizer.encode(file.read_text(encoding="utf-8"), special=False) for file in files]
    exact = TorchArm(model, torch.float32)(texts)
    kernels = Kernels(build_kernels(choose_instruction_set("auto"), cache_dir, print))
    results = []
    for name, change in CHANGES.items():
        with TemporaryDirectory() as parent:
            folder = changed(model, Path(parent), change)
            for weights, level in product(FORMATS, (False, True)):
                logits = NativeArm(folder, kernels, weights, longest=max(map(len, texts)), level=level)(texts)
                found = [compare(*each) for each in zip(logits, exact, (text[1:] for text in texts), strict=True)]
                results.append(summarise(f"{weights}, {name}{', not levelled' * (not level)}", found))
                print(results[-1], flush=True)
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.outliers", description=__doc__)
    parser.add_argument("model", type=Path, help="model folder of the Llama architecture")
    parser.add_argument("--cache-dir", type=Path, default=Path("build/native"), help="folder of the compiled kernels")
    parser.add_argument("--out", type=Path, default=RESULTS, help="output folder")
    arguments = parser.parse_args(argv)
    results = measure(arguments.model, arguments.cache_dir)
    lines = ["| weights | KL, mean | greedy agreement | perplexity |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {each.arm} | {each.kl_mean:.4f} | {each.greedy_agreement:.1%} | {each.perplexity:.2f} |" for each in results
    ]
    table = (
        f"# Weights with outliers\n\n{arguments.model.name}, `python -m bench.outliers`.\n\n" + "\n".join(lines) + "\n"
    )
    report = {"machine": asdict(describe_machine()), "arms": [asdict(each) for each in results]}
    write_results(arguments.out, "outliers", report, table)
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
