"""`python -m bench.kv_compression`: whether KV blocks should travel to and from Redis in fewer bytes.

Measures each codec of `bench.kv_codecs`: its effect on greedy answers, its size, its speed, and the time to restore a
prompt of 1,025 tokens. That prompt comes from a Redis behind a link of 100 MB/s. Takes several minutes. Writes
kv_compression.json and kv_compression.md. The agreement depends on the build, not on how busy the machine is.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import torch

from app.config.settings import load_settings
from bench.kv_agreement import Agreement, Laboratory, Prompt, make_prompts, measure_agreement
from bench.kv_codecs import CODECS, Codec, Raw
from bench.kv_restore import BLOCKS, LATENCY, RATE, ROUNDS, measure_restores
from bench.machine import Machine, describe_machine
from bench.report import RESULTS, write_results
from bench.stats import median
from cache_tiers.lower.sealed_value import HEADER_BYTES
from engine.cpu.instruction_set import usable_instruction_sets
from models.download.resolve import resolve_model

FREE_TARGET: Final = 0.99
GAIN_TARGET: Final = 1.6
REPEATS: Final = 5
RAW: Final = Raw()
OTHER_BUILDS: Final = ("avx2", "portable")


@dataclass(frozen=True, slots=True)
class Form:
    """Cost of a block in one encoding.

    nbytes: mean size in Redis, with the header.
    encode_ms, decode_ms: time on one thread.
    """

    nbytes: float
    encode_ms: float
    decode_ms: float


@dataclass(frozen=True, slots=True)
class Row:
    """Result of one codec.

    smaller: size of raw values divided by this codec's.
    ttft_ms: time to the first token with this codec.
    gain: time to the first token with raw values divided by this codec's.
    """

    codec: str
    form: Form
    smaller: float
    agreement: Agreement
    ttft_ms: float
    gain: float

    @property
    def met(self) -> bool:
        """Whether both targets are met."""
        return self.agreement.free >= FREE_TARGET and self.gain >= GAIN_TARGET


@dataclass(frozen=True, slots=True)
class Report:
    """One run.

    other_kernels: agreement of exact KV that was computed with other instructions, by the name of their set.
    """

    measured_on: str
    model: str
    machine: Machine
    prompts: int
    raw: Form
    raw_ttft_ms: float
    rows: tuple[Row, ...]
    other_kernels: dict[str, Agreement]


def measure_form(codec: Codec, blocks: Sequence[torch.Tensor]) -> Form:
    """Measure size and speed of a codec, with medians over blocks and repeats."""
    sizes, encode, decode = [], [], []
    for block in blocks:
        into = torch.empty_like(block)
        for _ in range(REPEATS):
            began = time.perf_counter()
            value = codec.encode(block)
            encoded = time.perf_counter()
            codec.decode(value, into)
            encode.append(encoded - began)
            decode.append(time.perf_counter() - encoded)
        sizes.append(len(value) + HEADER_BYTES)
    return Form(sum(sizes) / len(sizes), median(encode) * 1e3, median(decode) * 1e3)


def to_markdown(report: Report) -> str:
    """Format the table."""
    machine, block = report.machine, report.raw.nbytes / 1e6
    lines = [
        "# KV blocks in fewer bytes",
        "",
        f"{report.model}, greedy. Agreement: {report.prompts} prompts whose full blocks went through the codec, "
        f"against the unchanged blocks. First token: of {BLOCKS * 64 + 1} tokens from a Redis behind "
        f"{RATE / 1e6:g} MB/s and {LATENCY * 1e3:g} ms, median of {ROUNDS} rounds in turns. "
        f"Measured on {report.measured_on}: {machine.cpu}, torch {machine.versions.get('torch', 'unknown')}.",
        "",
        "| codec | times smaller | same tokens, free | chats | texts | whole answers | same tokens, forced | KL, mean "
        "| encode, ms | decode, ms | first token, ms | times sooner | both targets |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        f"| as it is | 1 | 100% | 100% | 100% | 100% | 100% | 0 | | | {report.raw_ttft_ms:.0f} | 1 | |",
    ]
    lines += [
        f"| {row.codec} | {row.smaller:.2f} | {_agreement(row.agreement)} | {row.form.encode_ms:.1f} "
        f"| {row.form.decode_ms:.1f} | {row.ttft_ms:.0f} | {row.gain:.2f} | {'met' if row.met else 'missed'} |"
        for row in report.rows
    ]
    lines += [
        f"| as it is, but computed by the {name} kernels | 1 | {_agreement(agreement)} | | | | | |"
        for name, agreement in report.other_kernels.items()
    ]
    lines += [
        "",
        f"Targets: at least {FREE_TARGET:.0%} of the tokens the same when each answer continues freely (free), and the "
        f"first token at least {GAIN_TARGET:g} times sooner. Forced: each answer receives the exact answer's tokens, "
        f"so that every position counts on its own. KL: divergence from the exact distribution, in nats. Times are for "
        f"a block of {block:.2f} MB on one thread: 1 ms is {block:.2f} GB/s.",
    ]
    return "\n".join(lines) + "\n"


def _agreement(of: Agreement) -> str:
    shares = [of.free, of.free_by_kind["chat"], of.free_by_kind["text"], of.whole, of.forced]
    return " | ".join([*(f"{share:.2%}" for share in shares), f"{of.kl:.6f}"])


def measure(prompts: Sequence[Prompt], folder: Path) -> Report:
    """Measure everything. `folder` is the model's."""
    settings = load_settings({})
    usable = usable_instruction_sets()
    other = next((each for each in usable[1:] if each.name in OTHER_BUILDS), None)
    restores = measure_restores(settings, folder, (RAW, *CODECS))
    laboratory = Laboratory(folder, usable[0], other, CODECS, settings.cache_dir)
    agreement = measure_agreement(laboratory, prompts)
    blocks = laboratory.sample()
    torch.set_num_threads(1)
    forms = {codec.name: measure_form(codec, blocks) for codec in (RAW, *CODECS)}
    raw, raw_ttft = forms[RAW.name], restores[RAW.name]
    return Report(
        measured_on=time.strftime("%Y-%m-%d"),
        model=folder.name,
        machine=describe_machine(),
        prompts=len(prompts),
        raw=raw,
        raw_ttft_ms=raw_ttft,
        rows=tuple(
            Row(
                name := codec.name,
                forms[name],
                raw.nbytes / forms[name].nbytes,
                agreement[name],
                restores[name],
                raw_ttft / restores[name],
            )
            for codec in CODECS
        ),
        other_kernels={name: agreement[name] for name in agreement if name not in forms},
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m bench.kv_compression", description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args(argv)
    settings = load_settings({})
    folder = resolve_model(settings.model, settings.cache_dir, print)
    report = measure(make_prompts(folder), folder)
    table = to_markdown(report)
    write_results(arguments.out, "kv_compression", asdict(report), table)
    print(table)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
