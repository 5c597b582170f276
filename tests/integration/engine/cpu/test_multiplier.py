"""Products of packed matrices outside of a step: their values, and equal bits whatever the batch."""

import math

import pytest
import torch

from engine.cpu.instruction_set import usable_instruction_sets
from engine.cpu.library import BFLOAT16_FORMATS, BLOCK_FORMATS
from engine.cpu.multiplier import Multiplier, PackedMatrix
from models.interface.causal_lm import MatrixRole
from models.weights.block_types import BLOCK_TYPES
from models.weights.packed_tensor import PackedTensor
from tests.many_models import combinations
from tests.native_rig import COMPUTES_IN_BYTES, KernelsFor, held_by_four_bits, quantized, rounded_to_bytes
from tests.sizes import Size

BATCHES = (2, 8, 13, 130, 330)
"""The threads divide the rows of the last one."""
INSTRUCTION_SETS = [each.name for each in usable_instruction_sets()]


def random(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(torch.bfloat16)


def bits(x: torch.Tensor) -> torch.Tensor:
    return x.view(torch.int16)


@pytest.mark.parametrize("weights", BFLOAT16_FORMATS)
@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_row_alone_equals_the_row_in_any_batch(
    kernels: KernelsFor, instruction_set: str, weights: str, size: Size
) -> None:
    depth, rows = size.pick(small=(1024, 1408), full=(2048, 5632))
    if instruction_set == INSTRUCTION_SETS[0] and weights == "bfloat16":
        depth, rows = 2048, 5632
    multiplier = Multiplier(kernels(instruction_set), threads=2, weights=weights)
    matrix = multiplier.pack(random(rows, depth), random(rows, seed=2), MatrixRole.LAYER)
    x = random(max(BATCHES), depth, seed=3)
    places = (0, 1, 7, 64, 129, 159, 160, 329)
    alone = {place: matrix(x[place : place + 1])[0] for place in places}
    for batch in BATCHES:
        together = matrix(x[:batch])
        for place in (place for place in places if place < batch):
            assert torch.equal(bits(together[place]), bits(alone[place])), (batch, place)


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
@pytest.mark.parametrize(("depth", "batches"), [(608, (33, 47, 48, 49, 64, 97, 129, 143)), (5632, (143,))])
def test_depth_in_blocks_changes_no_bit(
    kernels: KernelsFor, instruction_set: str, depth: int, batches: tuple[int, ...]
) -> None:
    matrix = Multiplier(kernels(instruction_set), threads=1, weights="bfloat16").pack(
        random(40, depth), None, MatrixRole.LAYER
    )
    x = random(max(batches), depth, seed=3)
    alone = torch.cat([matrix(row[None]) for row in x])
    for batch in batches:
        assert torch.equal(bits(matrix(x[:batch])), bits(alone[:batch])), batch


@pytest.mark.parametrize(("weights", "instruction_set"), combinations(["int8", "int4"], INSTRUCTION_SETS))
def test_every_row_of_a_batch_is_that_row_alone(kernels: KernelsFor, weights: str, instruction_set: str) -> None:
    matrix = Multiplier(kernels(instruction_set), threads=1, weights=weights).pack(
        random(70, 96), None, MatrixRole.LAYER
    )
    x = random(130, 96, seed=3)
    if weights == "int4" and instruction_set in COMPUTES_IN_BYTES:
        x[17, 40] = math.nan
    alone = torch.cat([matrix(row[None]) for row in x])
    for batch in (5, 13, 21, 49, 130):
        assert torch.equal(bits(matrix(x[:batch])), bits(alone[:batch])), batch


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("rows", "depth"), [(96, 64), (4, 64), (33, 24), (1, 96)])
def test_products_equal_those_in_float64(kernels: KernelsFor, rows: int, depth: int, threads: int) -> None:
    weight, bias, x = random(rows, depth), random(rows, seed=2), random(3, 5, depth, seed=3)
    for name in {INSTRUCTION_SETS[0], "portable"}:
        multiplier = Multiplier(kernels(name), threads=threads, weights="bfloat16")
        for added in (None, bias):
            found = multiplier.pack(weight, added, MatrixRole.LAYER)(x)
            expected = x.double() @ weight.double().T + (0 if added is None else added.double())
            assert found.shape == (3, 5, rows)
            torch.testing.assert_close(found.double(), expected, rtol=2**-8, atol=1e-2)


def test_int8_matrix_multiplies_its_rounded_values(kernels: KernelsFor) -> None:
    weight, x = random(96, 64), random(5, 64, seed=3)
    matrix = Multiplier(kernels("auto"), threads=1, weights="int8").pack(weight, None, MatrixRole.LAYER)
    torch.testing.assert_close(matrix(x).float(), x.float() @ quantized(weight).T, rtol=2**-7, atol=1e-2)
    assert not matrix.keeps_values


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_int4_matrix_multiplies_rows_in_bytes(kernels: KernelsFor, instruction_set: str) -> None:
    weight = held_by_four_bits(torch.ones(96, 256), torch.Generator().manual_seed(4))
    x = random(21, 256, seed=3)
    x[2, 32:64] = 0
    x[3, 7] = 1000
    multiplier = Multiplier(kernels(instruction_set), threads=1, weights="int4")
    matrix = multiplier.pack(weight.to(torch.bfloat16), None, MatrixRole.LAYER)
    left = rounded_to_bytes(x) if instruction_set in COMPUTES_IN_BYTES else x
    expected = left.double() @ weight.double().T
    torch.testing.assert_close(matrix(x).double(), expected, rtol=2**-8, atol=1e-3)


def extreme_and_random_blocks(type_: str, rows: int, depth: int) -> PackedTensor:
    """Return rows with all bits of the integers set, rows with none set, and random rows. All scales are small."""
    kind = BLOCK_TYPES[type_]
    blocks = torch.randint(
        0, 256, (rows, depth // kind.places, kind.nbytes), generator=torch.Generator().manual_seed(6)
    )
    blocks[:8], blocks[8:16] = 0xFF, 0
    if type_ == "Q8_0":
        blocks[blocks == 0x80] = 0x7F  # the file format has no -128
    scale = torch.tensor([0x14, 0xA0] * 2)  # float16 of -1/126, little endian
    blocks[..., kind.scales] = scale[: len(range(*kind.scales.indices(kind.nbytes)))]
    return PackedTensor(type_, blocks.to(torch.uint8).flatten(1))


@pytest.mark.parametrize(("type_", "instruction_set"), combinations(list(BLOCK_TYPES), INSTRUCTION_SETS))
def test_blocks_multiply_rows_in_bytes_without_overflow(kernels: KernelsFor, type_: str, instruction_set: str) -> None:
    rows, depth = 64, 256
    tensor, built = extreme_and_random_blocks(type_, rows, depth), kernels(instruction_set)
    weights = BLOCK_FORMATS[type_]
    memory = torch.zeros(2 * built.panel_bytes(weights, depth), dtype=torch.uint8)
    built.pack_blocks(tensor.blocks, rows, depth, memory, type_=type_, first_panel=0, step=1)
    matrix = PackedMatrix(Multiplier(built, threads=1, weights="int4"), memory, None, rows, depth, weights)
    x = random(21, depth, seed=3)
    x[0], x[1], x[2, ::2], x[2, 1::2] = 1, -1, 1, -1
    left = rounded_to_bytes(x) if instruction_set in COMPUTES_IN_BYTES and type_ != "Q8_0" else x
    expected = left.double() @ tensor.dequantize().double().T
    atol = 1e-6 * float(left.double().abs().sum(dim=1).max() * tensor.dequantize().abs().max())
    torch.testing.assert_close(matrix(x).double(), expected, rtol=2**-8, atol=atol)


def test_rows_of_a_bfloat16_matrix_are_those_packed(kernels: KernelsFor) -> None:
    weight = random(70, 40)
    matrix = Multiplier(kernels("auto"), threads=1, weights="bfloat16").pack(weight, None, MatrixRole.HEAD)
    ids = torch.tensor([[0, 69, 31], [32, 5, 69]])
    assert torch.equal(matrix.row_values(ids), weight[ids])


@pytest.mark.parametrize("weights", BFLOAT16_FORMATS)
def test_routers_stay_more_precise(kernels: KernelsFor, weights: str) -> None:
    weight, x = random(64, 64), random(4, 64, seed=3)
    multiplier = Multiplier(kernels("auto"), threads=1, weights=weights)
    for role, expected in ((MatrixRole.ROUTER, "bfloat16"), (MatrixRole.LAYER, weights)):
        plain = Multiplier(kernels("auto"), threads=1, weights=expected).pack(weight, None, MatrixRole.LAYER)
        assert torch.equal(multiplier.pack(weight, None, role)(x), plain(x))


@pytest.mark.parametrize("instruction_set", INSTRUCTION_SETS)
def test_head_of_int4_multiplies_eight_bits_by_bytes(kernels: KernelsFor, instruction_set: str) -> None:
    weight, x = random(96, 256), random(21, 256, seed=3)
    matrix = Multiplier(kernels(instruction_set), threads=1, weights="int4").pack(weight, None, MatrixRole.HEAD)
    left = rounded_to_bytes(x) if instruction_set in COMPUTES_IN_BYTES else x
    expected = left.double() @ quantized(weight).double().T
    torch.testing.assert_close(matrix(x).double(), expected, rtol=2**-7, atol=1e-2)


def test_name_tells_builds_and_formats_apart(kernels: KernelsFor) -> None:
    names = {Multiplier(kernels("auto"), threads=1, weights=weights).name for weights in BFLOAT16_FORMATS}
    names.add(Multiplier(kernels("portable"), threads=1, weights="int8").name)
    assert len(names) == 4
