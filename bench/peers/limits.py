"""Each arm compared with the limits of the machine: weights read for a token, and products of a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import gguf
from safetensors import safe_open

from bench.machine_limits import MachineLimits
from bench.peers.arms import EBB
from bench.peers.metrics import decode_key, ttft_key
from bench.peers.record import Record
from bench.stats import median

PROMPT = 512
_BITS = {"bf16": (16.0, 16.0), "int8": (8.5, 8.5), "int4": (4.5, 8.5)}
"""Bits of a weight in the layers, and in the output matrix, with the scale of its group."""
_EIGHT_BITS = ("int8", "Q8_0")
"""Kinds of weights that llama.cpp multiplies as bytes, and Ebb as bfloat16."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a model's matrices that multiply rows.

    weights: number of weights that a token reads.
    layer_weights: the same without the output matrix, of which a prompt uses one row.
    """

    weights: int
    layer_weights: int

    def bytes_of(self, kind: str) -> float:
        """Return the bytes of all weights. `kind` is "bf16", "int8" or "int4"."""
        layers, head = _BITS[kind]
        return (self.layer_weights * layers + (self.weights - self.layer_weights) * head) / 8


@dataclass(frozen=True, slots=True)
class Reads:
    """Weights of an arm that a token reads.

    size: bytes.
    in_bytes: whether the arm multiplies them as integers of one byte, where the processor can.
    """

    size: float
    in_bytes: bool


@dataclass(frozen=True, slots=True)
class Share:
    """Speed of an arm as shares of the limits. None if it was not measured.

    megabytes: weights that a token reads.
    decode: share of the memory's bandwidth that one stream uses for weights.
    prefill: share of its kind of products that a cold prompt of 512 tokens uses for weights.
    """

    arm: str
    megabytes: float
    decode: float | None
    prefill: float | None


def sizes_of(model: Path) -> Sizes:
    """Read the sizes from the checkpoint in a folder."""
    with safe_open(model / "model.safetensors", "pt") as tensors:
        shapes = {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118
    matrices = {name: shape[0] * shape[1] for name, shape in shapes.items() if len(shape) == 2}
    head = "lm_head.weight" if "lm_head.weight" in matrices else "model.embed_tokens.weight"
    layers = sum(count for name, count in matrices.items() if ".layers." in name)
    return Sizes(layers + matrices[head], layers)


def reads_of(peer: str, kind: str, sizes: Sizes, file: Path | None) -> Reads:
    """Return the weights of a kind that a token reads. `file` is the GGUF file that contains them, if one does."""
    in_bytes = kind != "bf16" and not (peer == EBB and kind in _EIGHT_BITS)
    return Reads(sizes.bytes_of(kind) if file is None else bytes_of_file(file), in_bytes)


def bytes_of_file(file: Path) -> int:
    """Return the bytes of the matrices in a GGUF file that a token reads."""
    matrices = {each.name: int(each.n_bytes) for each in gguf.GGUFReader(file).tensors if len(each.shape) == 2}
    if "output.weight" in matrices:
        del matrices["token_embd.weight"]
    return sum(matrices.values())


def shares(record: Record, limits: MachineLimits, sizes: Sizes, reads: Mapping[str, Reads]) -> list[Share]:
    """Compare every arm with the limits. Pure.

    reads: by arm, the weights that a token reads.
    """
    operations = 2.0 * sizes.layer_weights * PROMPT
    found = []
    for arm, weights in reads.items():
        rates, times = record.values(decode_key(1), arm), record.values(ttft_key(PROMPT, "cold"), arm)
        peak = (limits.byte_gops if weights.in_bytes else None) or limits.gflops
        decode = median(rates) * weights.size / (limits.gigabytes * 1e9) if rates else None
        prefill = operations / (peak * 1e9) / (median(times) / 1e3) if times else None
        found.append(Share(arm, weights.size / 1e6, decode, prefill))
    return found
