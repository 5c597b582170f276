"""Philox4x32-10 against its published vectors, and the numbers of rows that decode."""

import numpy as np

from engine.sampling.random_rows import AHEAD, Array, RowNumbers, philox4x32, uniforms

# Known answers published by Random123 for philox4x32-10: counter, key, result.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(texts: tuple[str, ...]) -> list[Array]:
    """Parse the texts into one array per word position, with one element per text."""
    numbers = [[int(word, 16) for word in text.split()] for text in texts]
    return [np.array(each, dtype=np.uint64) for each in zip(*numbers, strict=True)]


def uniform(seed: int, choice: int, position: int) -> float:
    return float(uniforms([seed], [choice], [position])[0])


def test_philox_gives_published_answers() -> None:
    counters, keys, expected = (words(texts) for texts in zip(*KNOWN_ANSWERS, strict=True))
    c0, c1, c2, c3 = counters
    k0, k1 = keys
    given = philox4x32((c0, c1, c2, c3), (k0, k1))
    assert [word.tolist() for word in given] == [word.tolist() for word in expected]


def test_batch_gives_same_numbers_as_single_calls() -> None:
    seeds, choices, positions = [1, 2, -3], [0, 1, 0], [5, 6, 7]
    assert uniforms(seeds, choices, positions).tolist() == list(map(uniform, seeds, choices, positions))


def test_uniform_depends_only_on_seed_choice_and_position() -> None:
    assert uniform(7, 0, 100) == uniform(7, 0, 100)
    assert len({uniform(7, 0, 100), uniform(8, 0, 100), uniform(7, 1, 100), uniform(7, 0, 101)}) == 4


def test_all_64_bits_of_the_seed_count() -> None:
    assert len({uniform(1 << bit, 0, 0) for bit in range(64)}) == 64


def test_negative_seed_uses_its_low_64_bits() -> None:
    assert uniform(-1, 0, 5) == uniform((1 << 64) - 1, 0, 5)


def test_uniform_numbers_stay_below_one_and_spread_evenly() -> None:
    numbers = uniforms([42] * 20_000, [0] * 20_000, range(20_000)).tolist()
    assert min(numbers) >= 0.0
    assert max(numbers) < 1.0
    counts = [0] * 20
    for number in numbers:
        counts[int(number * 20)] += 1
    # With 19 degrees of freedom, chi-square exceeds 43.8 for one seed in a thousand. The seed is fixed here.
    assert sum((count - 1000) ** 2 / 1000 for count in counts) < 43.8


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
