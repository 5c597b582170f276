"""A rig for the native step without an engine: chunks of prompts in, logits out."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from cache_tiers.layout.layout import BlockLayout
from engine.api.sampling_params import SamplingParams
from engine.attention.backend import kv_shapes
from engine.cpu.library import Kernels
from engine.cpu.pack_file import MappedPack
from engine.cpu.weights import PackedModel
from engine.request.scheduler_output import AdapterUse
from engine.sampling.sampler import SamplingRow
from engine.worker.batch.input_batch import ScheduledRequest
from engine.worker.native.native_step import NativeRunner
from engine.worker.native.step_arrays import PAGE_KEYS
from models.decoder.adapter_loading import load_adapter
from models.decoder.model import DecoderForCausalLM
from models.registry import load_model, read_config
from models.weights.folder import ModelFolder

Threads = Literal[1, 2]
KernelsFor = Callable[[str], Kernels]
"""Type of the fixture `kernels`."""
ROW = SamplingRow(SamplingParams(temperature=0.0), position=0, produced=0)


def load_bfloat16(folder: Path) -> DecoderForCausalLM:
    model = load_model(folder, torch.bfloat16, torch.device("cpu"))
    assert isinstance(model, DecoderForCausalLM)
    return model


def load_oracle(folder: Path) -> DecoderForCausalLM:
    """Load the torch model in float32, with its weights rounded to bfloat16 like those of the native step."""
    oracle = load_model(folder, torch.float32, torch.device("cpu"))
    assert isinstance(oracle, DecoderForCausalLM)
    rounded = load_bfloat16(folder).slots()
    for name, slot in oracle.slots().items():
        slot.copy_(rounded[name])
    return oracle


COMPUTES_IN_BYTES = ("amx_bf16", "avx512_bf16", "avx512", "avx2")
"""Instruction sets whose products with integer weights are those of bytes, except `int8` and Q8_0."""


def quantized(matrix: torch.Tensor) -> torch.Tensor:
    """Quantize [rows, columns] to int8 in groups of 32 along a row, and return the dequantized float32 values.

    Scales are float16, rounded up.
    """
    groups = matrix.float().view(len(matrix), -1, 32)
    exact = groups.abs().amax(dim=-1, keepdim=True) / 127
    scale = exact.half()
    scale = torch.where(scale.float() < exact, torch.nextafter(scale, torch.tensor(torch.inf).half()), scale).float()
    return (torch.round(groups / scale.clamp(min=1e-12)) * scale).view_as(matrix)


def rounded_to_bytes(x: torch.Tensor) -> torch.Tensor:
    """Round the left operand of a product of bytes: groups of 32 to integers, of which the largest is 127."""
    groups = x.float().view(*x.shape[:-1], -1, 32)
    largest = groups.abs().amax(dim=-1, keepdim=True)
    # A quotient of two tensors, because torch multiplies a number by the inverse of a tensor.
    inverse = torch.full_like(largest, 127) / largest
    return (torch.round(groups * inverse).nan_to_num() * (largest / 127)).view_as(x)


def held_by_four_bits(matrix: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return random weights of the same shape and size that int4 holds without rounding.

    Each group of 32 is a power of two times integers from -8 to 7. A group of zeros is among them. All columns have
    nearly the same size, so levelling changes nothing.
    """
    return _multiples(matrix, range(-8, 8), -8, generator)


def held_by_eight_bits(matrix: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Return random weights of the same shape and size that int8 and bfloat16 hold without rounding."""
    return _multiples(matrix, range(-127, 128), 127, generator)


def _multiples(matrix: torch.Tensor, values: range, largest: int, generator: torch.Generator) -> torch.Tensor:
    """Return groups of 32 integers of `values`, `largest` among them, each group times a power of two."""
    integers = torch.randint(values.start, values.stop, matrix.shape, generator=generator).view(len(matrix), -1, 32)
    integers.scatter_(-1, torch.randint(0, 32, (*integers.shape[:-1], 1), generator=generator), largest)
    integers[0, 0] = 0
    signs = torch.randint(0, 2, integers.shape[:2], generator=generator) * 2 - 1
    exponents = torch.randint(-2, 3, integers.shape[:2], generator=generator)
    size = float(matrix.abs().mean()) / (abs(largest) / 2)
    scales = signs * 2.0 ** (exponents + round(math.log2(size)))
    return (integers * scales[..., None]).view_as(matrix)


@dataclass
class Stream:
    """Sequence of tokens in blocks.

    done: number of computed tokens.
    adapter: None for the base model.
    shared: number of first blocks that belong to another stream.
    """

    tokens: list[int]
    blocks: list[int]
    done: int = 0
    shared: int = 0
    adapter: AdapterUse | None = None


class NativeRig:
    """One model with `num_blocks` KV blocks. They start full of NaN, which a recycled block may hold."""

    def __init__(
        self,
        kernels: Kernels,
        folder: Path,
        *,
        num_blocks: int,
        weights: str = "bfloat16",
        kept: MappedPack | None = None,
    ) -> None:
        self.config = config = read_config(ModelFolder(folder).config())
        device = torch.device("cpu" if kept is None else "meta")
        model = load_model(folder, torch.bfloat16, device, keep_packed=True)
        assert isinstance(model, DecoderForCausalLM)
        self.model = PackedModel(kernels, config, model, threads=2, weights=weights, kept=kept)
        layout = BlockLayout(kv_shapes(self.model.attention), PAGE_KEYS, torch.bfloat16.itemsize)
        self.kv = torch.full((num_blocks, layout.elements), float("nan"), dtype=torch.bfloat16)
        self.runners = {
            1: NativeRunner(self.model, self.kv, threads=1),
            2: NativeRunner(self.model, self.kv, threads=2),
        }
        self._random = torch.Generator().manual_seed(1)
        self._free = self.shuffled(range(num_blocks))
        self.digests: dict[str, str] = {}

    def add_adapter(self, folder: Path) -> None:
        """Load the adapter in `folder`, and keep its digest under its name."""
        fitted = load_adapter(folder, self.config, self.model.stage, torch.bfloat16)
        self.model.add_adapter(fitted)
        self.digests[fitted.about.name] = fitted.about.digest

    def shuffled(self, values: Sequence[int]) -> list[int]:
        return [values[i] for i in torch.randperm(len(values), generator=self._random).tolist()]

    def choose(self, values: Sequence[int]) -> int:
        return values[int(torch.randint(len(values), (1,), generator=self._random))]

    def start(self, tokens: Sequence[int]) -> Stream:
        """Allocate blocks at random positions for `tokens`, without clearing them."""
        count = -(-len(tokens) // PAGE_KEYS)
        blocks, self._free = self._free[:count], self._free[count:]
        assert len(blocks) == count
        return Stream(list(tokens), blocks)

    def fork(self, prefix: Stream, tokens: Sequence[int]) -> Stream:
        """Start a stream of `tokens`, which begin with those of `prefix`, on the full computed blocks of `prefix`."""
        shared = prefix.done // PAGE_KEYS
        rest = self.start(tokens[shared * PAGE_KEYS :]).blocks
        return Stream(list(tokens), [*prefix.blocks[:shared], *rest], done=shared * PAGE_KEYS, shared=shared)

    def end(self, stream: Stream) -> None:
        """Fill the stream's own blocks with NaN and free them."""
        own = stream.blocks[stream.shared :]
        self.kv[own] = float("nan")
        self._free = self.shuffled([*self._free, *own])
        stream.blocks = []

    def move(self, stream: Stream) -> None:
        """Copy the full computed blocks to other blocks, as a tier does, and drop the partial block after them."""
        whole = stream.done // PAGE_KEYS
        saved = self.kv[stream.blocks[:whole]].clone()
        self.end(stream)
        stream.blocks = self.start(stream.tokens).blocks
        self.kv[stream.blocks[:whole]] = saved
        stream.done = whole * PAGE_KEYS

    def advance(self, parts: Sequence[tuple[Stream, int]], *, threads: Threads = 1) -> torch.Tensor:
        """Compute the next `count` tokens of every stream in one step.

        Return the logits of each stream's last token, [streams, vocab]. Assert that every sampled token is the lowest
        id with the largest logit.

        threads: two wait for each other many times in each step, which takes long on a busy machine.
        """
        scheduled = [
            ScheduledRequest(
                request_id=str(i),
                token_ids=s.tokens[s.done : s.done + count],
                context_len=s.done,
                block_ids=s.blocks,
                sampling=(ROW,),
                adapter=s.adapter,
            )
            for i, (s, count) in enumerate(parts)
        ]
        computed = self.runners[threads].compute(scheduled, range(len(parts)))
        assert computed.tokens == computed.logits.argmax(dim=-1).tolist()
        for stream, count in parts:
            stream.done += count
        return computed.logits

    def rows(self, tokens: Sequence[int], chunk: int) -> torch.Tensor:
        """Compute `tokens` in chunks. Return the logits of each chunk's last row, [len(tokens) / chunk, vocab]."""
        stream = self.start(tokens)
        rows = torch.cat([self.advance([(stream, chunk)], threads=2) for _ in range(len(tokens) // chunk)])
        self.end(stream)
        return rows
