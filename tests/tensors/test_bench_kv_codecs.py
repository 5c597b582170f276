"""The forms of a KV block that `bench.kv_compression` compares: their losses, and the places of their scales."""

import numpy as np
import pytest
import torch

from bench.kv_codecs import (
    CODECS,
    K_CHANNEL,
    K_TOKEN,
    V_CHANNEL,
    V_TOKEN,
    Axes,
    Codec,
    Float8,
    HuffmanExponents,
    Integers,
)

LAYERS, HEADS, SLOTS, DIM, PANEL = 2, 3, 64, 64, 32
SHAPE = (LAYERS, 2, HEADS, SLOTS, DIM)


def k_at(slot: int, dim: int) -> int:
    """Return the position at which kernels/kv_pages.h writes an element of K."""
    return slot // PANEL * PANEL * DIM + slot % PANEL * 2 + dim // 2 * 2 * PANEL + dim % 2


def v_at(slot: int, dim: int) -> int:
    """Return the position at which kernels/kv_pages.h writes an element of V."""
    return dim // PANEL * PANEL * SLOTS + slot // 2 * PANEL * 2 + dim % PANEL * 2 + slot % 2


def there_and_back(codec: Codec, block: torch.Tensor) -> torch.Tensor:
    into = torch.full_like(block, 7.0)
    codec.decode(codec.encode(block), into)
    return into


def block_of(seed: int) -> torch.Tensor:
    return torch.randn(SHAPE, generator=torch.Generator().manual_seed(seed)).bfloat16()


def test_huffman_coded_exponents_give_back_every_bit_pattern() -> None:
    bits = np.random.default_rng(1).permutation(np.resize(np.arange(1 << 16, dtype=np.uint16), np.prod(SHAPE)))
    block = torch.from_numpy(bits).view(torch.bfloat16).view(SHAPE)

    assert torch.equal(there_and_back(HuffmanExponents(), block).view(torch.int16), block.view(torch.int16))


def test_huffman_coded_exponents_are_smaller() -> None:
    block = block_of(2)

    assert len(HuffmanExponents().encode(block)) < 0.75 * block.nbytes


@pytest.mark.parametrize("bits", [8, 9, 10])
@pytest.mark.parametrize("centred", [False, True])
def test_whole_numbers_are_off_by_half_a_step_at_most(bits: int, *, centred: bool) -> None:
    block = block_of(3) + 2
    codec = Integers("", K_TOKEN, V_TOKEN, bits=bits, centred=centred)

    error = (there_and_back(codec, block).float() - block.float()).abs().max()

    step = block.float().abs().max() / ((1 << bits - 1) - 1)
    assert error < 0.5 * step + 2.0**-7  # The second half of it is what bfloat16 rounds.
    assert len(codec.encode(block)) < block.nbytes * (bits + 1) / 16


@pytest.mark.parametrize(("over_k", "over_v", "by_token"), [(K_TOKEN, V_TOKEN, True), (K_CHANNEL, V_CHANNEL, False)])
def test_a_large_number_costs_only_those_that_share_its_scale(over_k: Axes, over_v: Axes, *, by_token: bool) -> None:
    block = torch.full(SHAPE, 0.01).bfloat16()
    block[0, 0, 1].view(-1)[k_at(41, 37)] = 1000.0
    block[1, 1, 2].view(-1)[v_at(41, 37)] = 1000.0

    lost = there_and_back(Integers("", over_k, over_v), block) == 0

    own = [(41, dim) for dim in range(DIM) if dim != 37] if by_token else [(at, 37) for at in range(SLOTS) if at != 41]
    expected = torch.zeros(SHAPE, dtype=torch.bool)
    for slot, dim in own:
        expected[0, 0, 1].view(-1)[k_at(slot, dim)] = True
        expected[1, 1, 2].view(-1)[v_at(slot, dim)] = True
    assert torch.equal(lost, expected)


def test_float8_keeps_three_bits_of_each_mantissa() -> None:
    block = block_of(4)

    relative = ((there_and_back(Float8(), block) - block).float().abs() / block.float().abs())[block.abs() > 0.1]

    assert relative.max() <= 1 / 16 + 1 / 256


def test_every_codec_survives_a_block_of_zeros() -> None:
    for codec in CODECS:
        assert not there_and_back(codec, torch.zeros(SHAPE, dtype=torch.bfloat16)).any()
