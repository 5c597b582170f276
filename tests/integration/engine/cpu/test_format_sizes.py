"""Sizes of packed weights that are known without the kernels, compared with those of the kernels."""

import pytest

from engine.cpu.format_sizes import packed_bytes
from engine.cpu.instruction_set import choose_instruction_set, usable_instruction_sets
from engine.cpu.library import WEIGHT_FORMATS
from engine.cpu.weights import PANEL
from tests.native_rig import KernelsFor

DEPTH = 512


@pytest.mark.parametrize("weights", WEIGHT_FORMATS)
@pytest.mark.parametrize("instruction_set", [each.name for each in usable_instruction_sets()])
def test_known_size_of_a_panel_is_that_of_the_kernels(kernels: KernelsFor, instruction_set: str, weights: str) -> None:
    known = packed_bytes(weights, PANEL * DEPTH, choose_instruction_set(instruction_set))
    assert known == kernels(instruction_set).panel_bytes(weights, DEPTH)
