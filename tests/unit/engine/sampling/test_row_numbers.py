import numpy as np

from engine.sampling.philox import uniforms
from engine.sampling.row_numbers import AHEAD, RowNumbers

SEEDS, CHOICES = [7, 2**63, -1], [0, 1, 0]


def test_numbers_of_steps_in_turn_and_apart_equal_single_ones() -> None:
    numbers, at = RowNumbers(SEEDS, CHOICES), [5, 9, 2**32 - 3]
    for step in range(3 * AHEAD):
        assert numbers.at(at).tolist() == uniforms(SEEDS, CHOICES, at).tolist()
        moved = [1, 0, 1] if step % 20 == 19 else [1, 1, 1]
        at = [each + by for each, by in zip(at, moved, strict=True)]


def test_numbers_stay_as_they_were_returned() -> None:
    numbers = RowNumbers(SEEDS, CHOICES)
    steps = [numbers.at([step, step, step]) for step in range(40)]
    for step, found in enumerate(steps):
        assert np.array_equal(found, uniforms(SEEDS, CHOICES, [step] * 3))
