"""Prompt adapters in the native step: exact for every composition of a step, and equal to torch in float32."""

from pathlib import Path

import pytest
import torch

from engine.cpu.instruction_set import usable_instruction_sets
from engine.request.scheduler_output import AdapterUse
from models.decoder.adapter_loading import load_adapter
from models.interface.causal_lm import AdaptedRows
from models.interface.dense_context import DenseContext
from tests.family_models import save_family
from tests.many_models import combinations
from tests.native_rig import KernelsFor, NativeRig, Stream, load_oracle
from tests.tiny_adapters import make_adapter
from tests.tiny_models import PANGU, make_tiny_model
from tests.tiny_prompts import make_prompt

INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
SHAPES = {
    "bfloat16": ({"hidden": 192, "heads": 3, "kv_heads": 1, "head_dim": 64}, "bfloat16"),
    "int4": ({"hidden": 192, "heads": 3, "kv_heads": 1, **PANGU}, "int4"),
}
VIRTUAL = {"": 0, "lora": 0, "soft": 20, "prefix": 70, "long": 130}
"""Virtual tokens of each adapter. The empty name is the base model."""


def rig_of(kernels: KernelsFor, instruction_set: str, folder: Path, weights: str) -> NativeRig:
    rig = NativeRig(kernels(instruction_set), folder, num_blocks=120, weights=weights)
    root = folder.parent
    rig.add_adapter(make_adapter(root / "lora", folder, seed=1))
    rig.add_adapter(make_prompt(root / "soft", folder, "PROMPT_TUNING", tokens=VIRTUAL["soft"]))
    rig.add_adapter(make_prompt(root / "prefix", folder, "PREFIX_TUNING", tokens=VIRTUAL["prefix"]))
    rig.add_adapter(make_prompt(root / "long", folder, "P_TUNING", tokens=VIRTUAL["long"]))
    return rig


def start(rig: NativeRig, tokens: list[int], name: str) -> Stream:
    stream = rig.start([0] * VIRTUAL[name] + tokens)
    stream.adapter = AdapterUse(rig.digests[name], num_virtual=VIRTUAL[name]) if name else None
    return stream


def prompts_of(count: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(5)
    lengths = [1, 5, 70, 130, 33, 200, 17, 90, 3, 64, 65, 40][:count]
    return [torch.randint(3, 250, (length,), generator=generator).tolist() for length in lengths]


@pytest.mark.parametrize(("shape", "instruction_set"), combinations(SHAPES, INSTRUCTION_SETS))
def test_rows_alongside_other_adapters_equal_rows_alone(
    tmp_path: Path, kernels: KernelsFor, shape: tuple[dict[str, int], str], instruction_set: str
) -> None:
    """Prompts in chunks and decodes of the base model, LoRA and prompt adapters, alone and in shuffled steps."""
    folder = make_tiny_model(tmp_path / "tiny", **shape[0])  # type: ignore[arg-type]
    rig = rig_of(kernels, instruction_set, folder, shape[1])
    names = list(VIRTUAL)
    cases = [(tokens, names[index % len(names)]) for index, tokens in enumerate(prompts_of(10))]
    alone = list[torch.Tensor]()
    for tokens, name in cases:
        stream = start(rig, [*tokens, 9], name)
        rows = torch.cat((rig.advance([(stream, len(stream.tokens) - 1)]), rig.advance([(stream, 1)])))
        assert rows.isfinite().all()
        alone.append(rows.view(torch.int32))
        rig.end(stream)
    compared = 0
    for threads in (1, 2):
        streams = [start(rig, [*tokens, 9], name) for tokens, name in cases]
        while running := [at for at in range(len(cases)) if streams[at].done < len(streams[at].tokens)]:
            parts = list[tuple[int, int]]()
            for at in rig.shuffled(running):
                left = len(streams[at].tokens) - 1 - streams[at].done
                parts.append((at, min(left, rig.choose((1, 16, 40, 100))) if left > 0 else 1))
            logits = rig.advance([(streams[at], count) for at, count in parts], threads=threads)
            for (at, _), row in zip(parts, logits, strict=True):
                if (behind := streams[at].done - len(streams[at].tokens) + 1) >= 0:
                    assert torch.equal(row.view(torch.int32), alone[at][behind]), f"case {at}, row {behind}"
                    compared += 1
        for stream in streams:
            rig.end(stream)
    assert compared == 2 * 2 * len(cases)


@pytest.mark.parametrize("kind", ["PROMPT_TUNING", "PREFIX_TUNING"])
@pytest.mark.parametrize("name", ["qwen3", "gemma3", "granite"])
def test_logits_equal_those_of_torch(tmp_path: Path, kernels: KernelsFor, name: str, kind: str) -> None:
    """Each adapter changes the logits by more than the native step differs from torch in float32."""
    folder = save_family(tmp_path / "model", name)
    count, tokens = 70, prompts_of(3)[2]
    adapter = make_prompt(tmp_path / "own", folder, kind, tokens=count)
    rig = NativeRig(kernels("auto"), folder, num_blocks=20)
    rig.add_adapter(adapter)
    adapted, base = rig.start([0] * count + tokens), rig.start(tokens)
    adapted.adapter = AdapterUse(rig.digests["own"], num_virtual=count)
    native = rig.advance([(adapted, len(adapted.tokens))])[0]
    plain = rig.advance([(base, len(tokens))])[0]
    oracle = load_oracle(folder)
    oracle.add_adapter(load_adapter(adapter, oracle.config, oracle.stage, torch.float32))
    inputs = torch.tensor(adapted.tokens)
    rows = AdaptedRows(rig.digests["own"], torch.arange(count))
    hidden = oracle.forward(inputs, torch.arange(len(inputs)), DenseContext(oracle.attention), [rows])
    expected = oracle.compute_logits(hidden)[-1]
    assert (native - expected).norm() < 0.1 * (expected - plain).norm()
