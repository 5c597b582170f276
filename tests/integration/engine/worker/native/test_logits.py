"""Logits of the native step, compared with those of the torch model."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from engine.cpu.instruction_set import usable_instruction_sets
from models.decoder.model import DecoderForCausalLM
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.tokenizers.tokenizer import Tokenizer
from tests.family_models import FAMILIES, ONE_OF_EACH, save_family
from tests.many_models import MARK as MANY_MODELS
from tests.many_models import combinations, representatives
from tests.native_rig import (
    KernelsFor,
    NativeRig,
    held_by_eight_bits,
    held_by_four_bits,
    load_bfloat16,
    load_oracle,
    quantized,
)
from tests.tiny_models import make_tiny_model

INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
SHAPES = {
    # hidden / heads is head_dim: 64 or 128
    "one head": {"hidden": 64, "heads": 1, "kv_heads": 1},
    "group of 1": {"hidden": 256, "heads": 4, "kv_heads": 4},
    "group of 2, tied": {"hidden": 256, "heads": 4, "kv_heads": 2, "tied": True},
    "group of 3": {"hidden": 192, "heads": 3, "kv_heads": 1},
    "group of 4, 128 wide": {"hidden": 512, "heads": 4, "kv_heads": 1},
    "group of 5, biases": {"hidden": 320, "heads": 5, "kv_heads": 1, "bias": True},
    "group of 6": {"hidden": 384, "heads": 6, "kv_heads": 1},
    "group of 7": {"hidden": 448, "heads": 7, "kv_heads": 1},
    "group of 8, 128 wide": {"hidden": 1024, "heads": 8, "kv_heads": 1},
    "128 wide, biases, tied": {"hidden": 256, "heads": 2, "kv_heads": 2, "bias": True, "tied": True},
    "openPangu": {
        "hidden": 256,
        "heads": 2,
        "kv_heads": 1,
        "bias": True,
        "architecture": "PanguEmbeddedForCausalLM",
        "vocab": 320,
    },
}


OF_EACH_KIND = (
    "one head",
    "group of 2, tied",
    "group of 3",
    "group of 4, 128 wide",
    "128 wide, biases, tied",
    "openPangu",
)
"""Shapes with each width of heads, and a group of one, two, three and four."""


def dense_logits(model: CausalLM, tokens: Sequence[int], chunk: int) -> torch.Tensor:
    """Compute the logits of the last row of every chunk of `chunk` tokens."""
    with torch.inference_mode():
        hidden = model.forward(torch.tensor(tokens), torch.arange(len(tokens)), DenseContext(model.attention))
        return model.compute_logits(hidden[chunk - 1 :: chunk])


def distance(logits: torch.Tensor, exact: torch.Tensor) -> float:
    return float((logits - exact).norm() / exact.norm())


@pytest.mark.parametrize(
    ("shape", "instruction_set"), combinations(SHAPES, INSTRUCTION_SETS, only={*OF_EACH_KIND, *INSTRUCTION_SETS})
)
def test_native_logits_are_closer_to_float32_than_torch_bfloat16(
    tmp_path: Path, kernels: KernelsFor, shape: dict[str, int], instruction_set: str
) -> None:
    folder = make_tiny_model(tmp_path / "tiny", **shape)  # type: ignore[arg-type]
    tokens = torch.randint(3, 250, (300,), generator=torch.Generator().manual_seed(5)).tolist()
    exact = dense_logits(load_oracle(folder), tokens, 10)
    native = NativeRig(kernels(instruction_set), folder, num_blocks=8).rows(tokens, 10)
    assert distance(native, exact) < 0.01
    assert distance(native, exact) < distance(dense_logits(load_bfloat16(folder), tokens, 10), exact)


WITH_LARGE_SCORES = ("phi3, 96 wide", "phi3, long", "gemma3, whole")
"""Models with wide heads or scaled scores, in which the rounding of keys to bfloat16 counts more."""


@pytest.mark.parametrize(
    ("name", "instruction_set"),
    combinations(list(FAMILIES), INSTRUCTION_SETS, only={*ONE_OF_EACH, *WITH_LARGE_SCORES, *INSTRUCTION_SETS}),
)
def test_logits_of_families_are_closer_than_torch_bfloat16(
    tmp_path: Path, kernels: KernelsFor, name: str, instruction_set: str
) -> None:
    folder = save_family(tmp_path / "model", name)
    tokens = torch.randint(3, 250, (300,), generator=torch.Generator().manual_seed(5)).tolist()
    exact = dense_logits(load_oracle(folder), tokens, 10)
    native = NativeRig(kernels(instruction_set), folder, num_blocks=8).rows(tokens, 10)
    assert distance(native, exact) < (0.03 if name in WITH_LARGE_SCORES else 0.02)
    assert distance(native, exact) < distance(dense_logits(load_bfloat16(folder), tokens, 10), exact)


@pytest.mark.parametrize(("tied", "instruction_set"), combinations({"": False, "tied": True}, INSTRUCTION_SETS))
def test_int8_logits_match_weights_quantized_in_groups_of_32(
    tmp_path: Path, kernels: KernelsFor, instruction_set: str, tied: bool
) -> None:
    folder = make_tiny_model(tmp_path / "tiny", hidden=192, heads=3, kv_heads=1, tied=tied)
    oracle = load_oracle(folder)
    for name, slot in oracle.slots().items():
        if slot.dim() == 2 and (tied or "embed" not in name):
            # A group of tiny weights, a group of zeros, and one weight much larger than the rest of its group.
            slot[0, :32] *= 1e-6
            slot[1, 32:64] = 0
            slot[2, 70] = 0.5
    write_back(oracle, folder)
    oracle = load_oracle(folder)
    for name, slot in oracle.slots().items():
        if slot.dim() == 2 and (tied or "embed" not in name):
            slot.copy_(quantized(slot))
    tokens = torch.randint(3, 250, (300,), generator=torch.Generator().manual_seed(5)).tolist()
    native = NativeRig(kernels(instruction_set), folder, num_blocks=8, weights="int8").rows(tokens, 10)
    assert distance(native, dense_logits(oracle, tokens, 10)) < 0.01


@pytest.mark.parametrize(("tied", "instruction_set"), combinations({"": False, "tied": True}, INSTRUCTION_SETS))
def test_int4_logits_match_weights_that_four_bits_can_hold(
    tmp_path: Path, kernels: KernelsFor, instruction_set: str, tied: bool
) -> None:
    folder = make_tiny_model(tmp_path / "tiny", hidden=192, heads=3, kv_heads=1, tied=tied)
    oracle = load_oracle(folder)
    generator = torch.Generator().manual_seed(9)
    head = "model.embed_tokens.weight" if tied else "lm_head.weight"
    for name, slot in oracle.slots().items():
        if name == head:
            slot.copy_(held_by_eight_bits(slot, generator))
        elif slot.dim() == 2 and name.startswith("model.layers"):
            slot.copy_(held_by_four_bits(slot, generator))
    write_back(oracle, folder)
    tokens = torch.randint(3, 250, (300,), generator=generator).tolist()
    exact = dense_logits(load_oracle(folder), tokens, 10)
    bits16, bits4 = (
        NativeRig(kernels(instruction_set), folder, num_blocks=8, weights=weights).rows(tokens, 10)
        for weights in ("bfloat16", "int4")
    )
    # These weights amplify every rounding, so four bits may only not be further away than sixteen are. Activations in
    # bytes are: they have a bit less than bfloat16, and a scale per group in place of one per value. Without dot
    # products of bfloat16, the activations of sixteen bits are not rounded at all.
    factor = {"amx_bf16": 3.5, "avx512_bf16": 3.5, "avx512": 6, "avx2": 6}.get(instruction_set, 1.01)
    assert distance(bits4, exact) < factor * distance(bits16, exact)


@pytest.mark.parametrize("weights", ["int8", "int4"])
def test_outlier_columns_cost_no_precision(tmp_path: Path, kernels: KernelsFor, weights: str) -> None:
    folder = make_tiny_model(tmp_path / "tiny", hidden=192, heads=3, kv_heads=1)
    tokens = torch.randint(3, 250, (300,), generator=torch.Generator().manual_seed(5)).tolist()
    oracle = load_oracle(folder)
    exact = dense_logits(oracle, tokens, 10)

    def lost() -> float:
        return distance(NativeRig(kernels("auto"), folder, num_blocks=8, weights=weights).rows(tokens, 10), exact)

    lost_before = lost()
    for name, slot in oracle.slots().items():
        # One column in sixteen of all matrices after a norm. The result of the network stays the same.
        if name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight", "gate_proj.weight", "up_proj.weight")):
            slot[:, ::16] *= 32
        elif name.endswith("layernorm.weight"):
            slot[::16] /= 32
    write_back(oracle, folder)
    assert lost() < 1.2 * lost_before


def write_back(model: DecoderForCausalLM, folder: Path) -> None:
    save_file({name: slot.contiguous() for name, slot in model.slots().items()}, folder / "model.safetensors")


TEXT = (
    "The tide comes in twice a day because the earth turns under two bulges of water. One of them faces the moon, "
    "which pulls the near side of the ocean more than the middle of the planet; the other lies on the far side, where "
    "it pulls less. def tide(hours: float) -> float: return math.cos(2 * math.pi * hours / 12.42)"
)


@pytest.fixture(scope="module")
def real_logits(model_path: Path) -> tuple[list[int], torch.Tensor]:
    """Token ids of a text, and the float32 logits of every second row."""
    tokens = Tokenizer.load(model_path).encode(TEXT, special=False)
    return tokens, dense_logits(load_oracle(model_path), tokens, 2)


@pytest.mark.parametrize("instruction_set", representatives(INSTRUCTION_SETS[:1], INSTRUCTION_SETS))
def test_real_model_agrees_with_float32(
    model_path: Path,
    kernels: KernelsFor,
    real_logits: tuple[list[int], torch.Tensor],
    instruction_set: str,
) -> None:
    tokens, exact = real_logits
    native = NativeRig(kernels(instruction_set), model_path, num_blocks=3).rows(tokens, 2)
    assert float(torch.nn.functional.cosine_similarity(native, exact).min()) > 0.999
    lost = exact.amax(-1) - exact.gather(-1, native.argmax(-1, keepdim=True))[:, 0]
    assert float((lost == 0).float().mean()) > 0.9
    assert float(lost.max()) < 0.1, "the token differs from float32's without a tie"


@pytest.mark.parametrize(
    ("weights", "most_loss", "least_agreement"),
    [("int8", 0.01, 0.85), pytest.param("int4", 0.6, 0.5, marks=MANY_MODELS)],
)
def test_quantized_weights_of_real_model_lose_little_accuracy(
    weights: str,
    most_loss: float,
    least_agreement: float,
    model_path: Path,
    kernels: KernelsFor,
    real_logits: tuple[list[int], torch.Tensor],
) -> None:
    tokens, exact = real_logits
    native = NativeRig(kernels("auto"), model_path, num_blocks=3, weights=weights).rows(tokens, 2)
    loss = torch.nn.functional.kl_div(native.log_softmax(-1), exact.log_softmax(-1), log_target=True, reduction="none")
    assert float(loss.sum(-1).mean()) < most_loss
    assert float((native.argmax(-1) == exact.argmax(-1)).float().mean()) > least_agreement
