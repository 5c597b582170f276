"""The native step with the blocks of GGUF files: exact values, equal in every batch, in little more memory."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from engine.cpu.instruction_set import usable_instruction_sets
from engine.cpu.weights import PackedModel
from models.decoder.model import DecoderForCausalLM
from models.gguf_import.convert import convert_gguf
from models.interface.dense_context import DenseContext
from models.registry import load_model
from models.weights.block_types import BLOCK_TYPES, METADATA_KEY
from models.weights.fingerprint import model_fingerprint
from models.weights.parameter_count import count_parameters
from tests.gguf_families import BlockModel, their_logits, write_block_family
from tests.many_models import combinations, representatives
from tests.native_rig import COMPUTES_IN_BYTES, KernelsFor, NativeRig
from tests.tiny_gguf import MIXES, write_block_gguf

INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]
TYPES: Mapping[str, Mapping[str, str]] = {type_: {"": type_} for type_ in BLOCK_TYPES} | {
    **MIXES,
    "mixed": {"": "Q5_0", "attn_k": "Q8_0", "ffn_up": "Q4_1", "ffn_down": "IQ4_NL", "token_embd": "Q4_0"},
    "Q4_0 and F16": {"": "Q4_0", "attn_v": "F16", "ffn_up": "F16", "token_embd": "F16"},
    "Q8_0 and BF16": {"": "Q8_0", "attn_qkv": "BF16", "attn_k": "BF16", "ffn_down": "BF16", "output": "BF16"},
}
"""Types of a file's tensors, for `write_block_gguf`."""
FILES = (
    ("llama 3", "Q4_K_M"),
    ("mistral", "Q4_0"),
    ("mistral", "Q5_K_M"),
    ("ministral3", "Q8_0"),
    ("qwen2", "IQ4_NL"),
    ("qwen2", "Q4_K_M"),
    ("qwen3", "Q8_0 and BF16"),
    ("qwen3", "Q6_K"),
    ("granite", "Q5_K_M"),
    ("granite", "Q4_0 and F16"),
    ("smollm3", "Q6_K"),
    ("smollm3", "IQ4_NL"),
    ("phi3", "Q8_0 and BF16"),
    ("phi3, long", "Q4_0"),
    ("gemma2", "Q4_K_M"),
    ("gemma2", "Q8_0"),
    ("gemma3", "Q5_K_M"),
    ("gemma3", "Q4_0 and F16"),
)
"""Families of WIDE_FAMILIES, each with the types of a file's tensors."""
TOKENS = torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(5)).tolist()


def converted(
    folder: Path, types: Mapping[str, str], *, tied: bool = False, zero: str | None = None, architecture: str = "llama"
) -> Path:
    folder.mkdir()
    file = write_block_gguf(folder.with_suffix(".gguf"), types, tied=tied, zero=zero, architecture=architecture)
    convert_gguf(file, folder, lambda line: None, keep_blocks=True)
    return folder


def oracle_logits(folder: Path) -> torch.Tensor:
    """Compute logits in float32 from the values that the gguf package finds in the blocks."""
    model = load_model(folder, torch.float32, torch.device("cpu"))
    assert isinstance(model, DecoderForCausalLM)
    with torch.inference_mode():
        positions = torch.arange(len(TOKENS))
        hidden = model.forward(torch.tensor(TOKENS), positions, DenseContext(model.attention))
        return model.compute_logits(hidden[9::10])


def distance(logits: torch.Tensor, exact: torch.Tensor) -> float:
    return float((logits - exact).norm() / exact.norm())


@pytest.mark.parametrize(("name", "instruction_set"), combinations(list(TYPES), INSTRUCTION_SETS))
def test_weights_have_the_exact_values_of_their_blocks(
    tmp_path: Path, kernels: KernelsFor, name: str, instruction_set: str
) -> None:
    # Attention rounds its keys to bfloat16. Without it only activations are rounded, and only in some builds.
    folder = converted(tmp_path / "model", TYPES[name], zero="attn_output")
    native = NativeRig(kernels(instruction_set), folder, num_blocks=4).rows(TOKENS, 10)
    assert distance(native, oracle_logits(folder)) < (0.02 if instruction_set in COMPUTES_IN_BYTES else 1e-5)


@pytest.mark.parametrize("tied", [False, True], ids=["", "tied"])
@pytest.mark.parametrize("name", ["Q4_K_M", "mixed"])
def test_logits_with_attention_are_those_of_the_blocks(
    tmp_path: Path, kernels: KernelsFor, name: str, tied: bool
) -> None:
    folder = converted(tmp_path / "model", TYPES[name], tied=tied)
    native = NativeRig(kernels("auto"), folder, num_blocks=4).rows(TOKENS, 10)
    assert distance(native, oracle_logits(folder)) < (0.05 if INSTRUCTION_SETS[0] in COMPUTES_IN_BYTES else 0.03)


def test_merged_matrices_of_phi3_stay_in_blocks(tmp_path: Path, kernels: KernelsFor) -> None:
    folder = converted(tmp_path / "model", {"": "Q4_K", "ffn_down": "Q6_K"}, architecture="phi3")
    model = load_model(folder, torch.bfloat16, torch.device("cpu"), keep_packed=True)
    assert isinstance(model, DecoderForCausalLM)
    assert model.packed.keys() == {name for name, slot in model.slots().items() if slot.dim() == 2}
    native = NativeRig(kernels("auto"), folder, num_blocks=4).rows(TOKENS, 10)
    assert distance(native, oracle_logits(folder)) < (0.05 if INSTRUCTION_SETS[0] in COMPUTES_IN_BYTES else 0.03)


@dataclass(frozen=True)
class FamilyFile:
    """A model of a family in blocks, and the folder that its file was converted to.

    exact: logits of transformers for TOKENS, float32, one row of ten.
    """

    model: BlockModel
    folder: Path
    exact: torch.Tensor


@pytest.fixture(scope="module", params=FILES, ids=" in ".join)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FamilyFile:
    name, types = request.param
    folder = tmp_path_factory.mktemp("family")
    model = write_block_family(folder, name, TYPES[types])
    (folder / "converted").mkdir()
    convert_gguf(model.file, folder / "converted", lambda line: None, keep_blocks=True)
    return FamilyFile(model, folder / "converted", their_logits(model.source, torch.tensor(TOKENS))[9::10])


@pytest.mark.parametrize("instruction_set", representatives(INSTRUCTION_SETS[:1], INSTRUCTION_SETS))
def test_family_in_blocks_has_the_logits_of_transformers(
    family: FamilyFile, kernels: KernelsFor, instruction_set: str
) -> None:
    native = NativeRig(kernels(instruction_set), family.folder, num_blocks=4).rows(TOKENS, 10)
    assert distance(native, family.exact) < (0.05 if instruction_set in COMPUTES_IN_BYTES else 0.03)


def test_family_in_blocks_has_no_second_copy_of_a_matrix(family: FamilyFile, kernels: KernelsFor) -> None:
    model = load_model(family.folder, torch.bfloat16, torch.device("cpu"), keep_packed=True)
    assert isinstance(model, DecoderForCausalLM)
    in_blocks = [name for name, type_ in family.model.types.items() if type_ in BLOCK_TYPES]
    assert model.packed.keys() == {slot for name in in_blocks for slot in model.slots_of(name)}
    matrices = [slot for slot in model.slots().values() if slot.dim() == 2]
    packed = PackedModel(kernels("auto"), model.config, model, threads=1)
    assert [slot.untyped_storage().nbytes() for slot in matrices] == [0] * len(matrices)
    assert not model.packed
    assert packed.nbytes < most_growth(family.model.types.values()) * family.model.file.stat().st_size


def most_growth(types: Collection[str]) -> float:
    """Return the largest accepted ratio of the memory of weights to their file."""
    return 1.4 if "Q6_K" in types and INSTRUCTION_SETS[0] not in COMPUTES_IN_BYTES else 1.15


@pytest.mark.parametrize(("name", "instruction_set"), combinations(["mixed", "Q5_K_M", "Q4_K_M"], INSTRUCTION_SETS))
def test_logits_in_blocks_do_not_depend_on_the_batch(
    tmp_path: Path, kernels: KernelsFor, name: str, instruction_set: str
) -> None:
    folder = converted(tmp_path / "model", TYPES[name])
    rig = NativeRig(kernels(instruction_set), folder, num_blocks=40)
    alone = rig.start(TOKENS[:40])
    expected = [rig.advance([(alone, 1)], threads=1)[0] for _ in alone.tokens]
    for chunk in (5, 20, 40):
        streams = [rig.start(alone.tokens) for _ in range(13)]
        for end in range(chunk, 41, chunk):
            for row in rig.advance([(stream, chunk) for stream in streams]):
                assert torch.equal(row.view(torch.int32), expected[end - 1].view(torch.int32))
        for stream in streams:
            rig.end(stream)


@pytest.mark.parametrize("name", TYPES)
def test_loaded_weights_take_hardly_more_memory_than_the_file(tmp_path: Path, kernels: KernelsFor, name: str) -> None:
    folder = converted(tmp_path / "model", TYPES[name])
    packed = NativeRig(kernels("auto"), folder, num_blocks=1).model
    most = most_growth(TYPES[name].values())
    assert packed.nbytes < most * (folder / "model.safetensors").stat().st_size


def test_types_of_blocks_are_part_of_the_keys_of_prefixes(tmp_path: Path, kernels: KernelsFor) -> None:
    folder = converted(tmp_path / "model", TYPES["Q4_0"])
    file = folder / "model.safetensors"
    fingerprint, numerics = model_fingerprint(folder), NativeRig(kernels("auto"), folder, num_blocks=1).model.numerics
    types = {name: "IQ4_NL" for name, tensor in load_file(file).items() if tensor.dtype is torch.uint8}
    save_file(load_file(file), file, {METADATA_KEY: json.dumps(types)})
    assert model_fingerprint(folder) != fingerprint
    assert NativeRig(kernels("auto"), folder, num_blocks=1).model.numerics != numerics


def test_parameters_in_blocks_are_counted(tmp_path: Path) -> None:
    counts = {name: count_parameters([converted(tmp_path / name, TYPES[name]) / "model.safetensors"]) for name in TYPES}
    assert set(counts.values()) == {model_size(tmp_path / "Q4_0")}


def model_size(folder: Path) -> int:
    model = load_model(folder, torch.float32, torch.device("cpu"))
    assert isinstance(model, DecoderForCausalLM)
    return sum(slot.numel() for slot in model.slots().values())
