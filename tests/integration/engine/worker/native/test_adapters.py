"""Adapters in the native step: exact for every composition of a step, and equal to torch in float32."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from engine.cpu.instruction_set import usable_instruction_sets
from engine.request.scheduler_output import AdapterUse
from engine.worker.native.step_arrays import PAGE_KEYS
from models.adapters.folder import read_adapter
from models.decoder.adapters import fit_adapter
from models.interface.causal_lm import AdaptedRows
from models.interface.dense_context import DenseContext
from tests.family_models import save_family
from tests.many_models import combinations
from tests.native_rig import KernelsFor, NativeRig, Stream, load_oracle
from tests.tiny_adapters import make_adapter
from tests.tiny_models import PANGU, make_tiny_model

INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
SHAPES = {
    "bfloat16": ({"hidden": 192, "heads": 3, "kv_heads": 1, "head_dim": 64}, "bfloat16"),
    "int8": ({"hidden": 192, "heads": 3, "kv_heads": 1, **PANGU}, "int8"),
    "int4": ({"hidden": 192, "heads": 3, "kv_heads": 1, **PANGU}, "int4"),
}
NAMES = ("", "small", "large", "last")
"""Adapters of rank 4 and 40 in all matrices, and one of the last layer alone. The empty name is the base model."""


def make_adapters(folder: Path, model: Path) -> list[Path]:
    return [
        make_adapter(folder / "small", model, rank=4, seed=1),
        make_adapter(folder / "large", model, rank=40, seed=2),
        make_adapter(folder / "last", model, rank=8, seed=3, targets=("q_proj", "down_proj"), layers=(1,)),
    ]


def rig_of(kernels: KernelsFor, instruction_set: str, folder: Path, weights: str) -> NativeRig:
    rig = NativeRig(kernels(instruction_set), folder, num_blocks=120, weights=weights)
    for adapter in make_adapters(folder.parent, folder):
        rig.add_adapter(adapter)
    return rig


def start(rig: NativeRig, tokens: Sequence[int], name: str, first: int = 0) -> Stream:
    stream = rig.start(tokens)
    stream.adapter = AdapterUse(rig.digests[name], first) if name else None
    return stream


def prompts_of(count: int, vocab: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    lengths = [1, 5, 70, 130, 33, 200, 17, 90, 3, 64, 65, 40][:count]
    return [torch.randint(3, vocab, (length,), generator=generator).tolist() for length in lengths]


@pytest.mark.parametrize(("shape", "instruction_set"), combinations(SHAPES, INSTRUCTION_SETS))
def test_rows_alongside_other_adapters_equal_rows_alone(
    tmp_path: Path, kernels: KernelsFor, shape: tuple[dict[str, int], str], instruction_set: str
) -> None:
    """Prompts in chunks and decodes, each with one of four adapters or none, alone and in shuffled steps."""
    folder = make_tiny_model(tmp_path / "tiny", **shape[0])  # type: ignore[arg-type]
    rig = rig_of(kernels, instruction_set, folder, shape[1])
    cases = [(tokens, NAMES[index % len(NAMES)], index % 7) for index, tokens in enumerate(prompts_of(12, 250))]
    alone = list[torch.Tensor]()
    for tokens, name, first in cases:
        stream = start(rig, [*tokens, 9], name, first)
        rows = torch.cat((rig.advance([(stream, len(tokens))]), rig.advance([(stream, 1)])))
        assert rows.isfinite().all()
        alone.append(rows.view(torch.int32))
        rig.end(stream)
    compared = 0
    for threads in (1, 2):
        streams = [start(rig, [*tokens, 9], name, first) for tokens, name, first in cases]
        while running := [at for at in range(len(cases)) if streams[at].done < len(streams[at].tokens)]:
            parts = list[tuple[int, int]]()
            for at in rig.shuffled(running):
                left = len(cases[at][0]) - streams[at].done
                parts.append((at, min(left, rig.choose((1, 16, 40, 100))) if left > 0 else 1))
            logits = rig.advance([(streams[at], count) for at, count in parts], threads=threads)
            for (at, _), row in zip(parts, logits, strict=True):
                if (behind := streams[at].done - len(cases[at][0])) >= 0:
                    assert torch.equal(row.view(torch.int32), alone[at][behind]), f"case {at}, row {behind}"
                    compared += 1
        for stream in streams:
            rig.end(stream)
    assert compared == 2 * 2 * len(cases)


@pytest.mark.parametrize("name", ["internlm3", "qwen3", "gemma3", "phi3"])
def test_logits_equal_those_of_torch(tmp_path: Path, kernels: KernelsFor, name: str) -> None:
    """Each adapter changes the logits by more than the native step differs from torch in float32."""
    folder = save_family(tmp_path / "model", name)
    fused = ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")
    targets = {"targets": fused} if name == "phi3" else {}
    adapter = make_adapter(tmp_path / "own", folder, rank=12, size=0.5, **targets)  # type: ignore[arg-type]
    rig = NativeRig(kernels("auto"), folder, num_blocks=20)
    rig.add_adapter(adapter)
    tokens = prompts_of(3, 200)[2]
    native = rig.advance([(start(rig, tokens, "own"), len(tokens))])[0]
    base = rig.advance([(start(rig, tokens, ""), len(tokens))])[0]
    expected = oracle_logits(folder, adapter, tokens)
    change = (expected - base).norm()
    assert (native - expected).norm() < 0.1 * change


def oracle_logits(folder: Path, adapter: Path, tokens: Sequence[int], first: int = 0) -> torch.Tensor:
    """Compute the logits of the last token with torch in float32."""
    oracle = load_oracle(folder)
    fitted = fit_adapter(read_adapter(adapter), oracle.config, oracle.stage, torch.float32)
    oracle.add_adapter(fitted)
    rows = AdaptedRows(fitted.about.digest, torch.arange(first, len(tokens)))
    positions, context = torch.arange(len(tokens)), DenseContext(oracle.attention)
    hidden = oracle.forward(torch.tensor(tokens), positions, context, [rows])
    return oracle.compute_logits(hidden)[-1]


def test_levelled_columns_are_levelled_in_the_adapter_too(tmp_path: Path, kernels: KernelsFor) -> None:
    """int4 levels the columns of a model, whose sizes differ. The adapter changes it as it changes the bfloat16 one."""
    folder = make_tiny_model(tmp_path / "tiny", hidden=192, heads=3, kv_heads=1)
    tensors = load_file(folder / "model.safetensors")
    sizes = 2.0 ** (torch.arange(192) % 7 - 3)
    for name in tensors:
        if name.split(".")[-2] in ("input_layernorm", "post_attention_layernorm"):
            tensors[name] /= sizes
        elif name.split(".")[-2] in ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"):
            tensors[name] *= sizes
    save_file(tensors, folder / "model.safetensors")
    adapter = make_adapter(tmp_path / "own", folder, targets=("v_proj", "up_proj"), size=4.0)
    tokens, changes = prompts_of(3, 250)[2], list[torch.Tensor]()
    for weights in ("bfloat16", "int4"):
        rig = NativeRig(kernels("auto"), folder, num_blocks=20, weights=weights)
        rig.add_adapter(adapter)
        adapted, base = (rig.advance([(start(rig, tokens, name), len(tokens))])[0] for name in ("own", ""))
        changes.append(adapted - base)
    assert functional.cosine_similarity(changes[0], changes[1], dim=0) > 0.9


def test_adapter_begins_at_its_first_token(tmp_path: Path, kernels: KernelsFor) -> None:
    """K and V before that token are the base model's, bit for bit, and the logits are those of torch."""
    folder = save_family(tmp_path / "model", "internlm3")
    adapter = make_adapter(tmp_path / "own", folder, rank=4, size=0.5)
    rig = NativeRig(kernels("auto"), folder, num_blocks=20)
    rig.add_adapter(adapter)
    tokens, first = prompts_of(6, 200)[5], 2 * PAGE_KEYS
    streams = [start(rig, tokens, name, first) for name in ("", "own")]
    base, native = (rig.advance([(stream, len(tokens))])[0] for stream in streams)
    pages = [[rig.kv[stream.blocks[at]].view(torch.int16) for at in range(4)] for stream in streams]
    assert [torch.equal(*pair) for pair in zip(*pages, strict=True)] == [True, True, False, False]
    expected = oracle_logits(folder, adapter, tokens, first)
    assert (native - expected).norm() < 0.1 * (expected - base).norm()
