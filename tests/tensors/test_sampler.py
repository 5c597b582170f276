from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
import torch

from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.sampling.candidates import CANDIDATES
from engine.sampling.running_mass import STRETCH, RunningMass, share_of, to_integers
from engine.sampling.sampler import Sampler, SamplingRow

GREEDY = SamplingParams(temperature=0.0)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Use one thread: with small tensors, more threads would only wait for each other."""
    torch.set_num_threads(1)


def row(params: SamplingParams, position: int = 10, produced: int = 0) -> SamplingRow:
    return SamplingRow(params, position, produced)


def sampled(logits: torch.Tensor, rows: Sequence[SamplingRow]) -> list[int]:
    tokens: list[int] = Sampler().sample(logits, rows).tolist()
    return tokens


def logits_of(probabilities: list[float]) -> torch.Tensor:
    return torch.tensor(probabilities, dtype=torch.float64).log().float()


def invert_cdf(masses: npt.NDArray[np.float32], u: npt.NDArray[np.float64]) -> list[int]:
    """Return the first index at which the running sum of `masses` exceeds each share `u` of their sum."""
    running = RunningMass(to_integers(torch.from_numpy(masses)).repeat(len(u), 1))
    places: list[int] = running.place(share_of(running.total, torch.from_numpy(u))).tolist()
    return places


def draws(probabilities: list[float], params: SamplingParams, count: int) -> Counter[int]:
    """Sample one token at each of `count` positions of a sequence, and count the tokens."""
    logits = logits_of(probabilities).repeat(count, 1)
    return Counter(sampled(logits, [row(params, position) for position in range(count)]))


def chi_square(counts: Counter[int], expected: dict[int, float], total: int) -> float:
    assert set(counts) <= set(expected)
    return sum((counts[token] - share * total) ** 2 / (share * total) for token, share in expected.items())


def test_greedy_takes_likeliest_token_and_lowest_id_on_ties() -> None:
    logits = torch.tensor([[0.0, 3.0, 3.0, 1.0], [2.0, 1.0, 0.0, 2.0]])
    assert sampled(logits, [row(GREEDY), row(GREEDY)]) == [1, 0]


def test_draws_follow_distribution() -> None:
    shares = [0.4, 0.3, 0.15, 0.1, 0.05]
    counts = draws(shares, SamplingParams(seed=11), 10_000)
    # 4 degrees of freedom: one seed in a thousand exceeds 18.5, and the seed is fixed.
    assert chi_square(counts, dict(enumerate(shares)), 10_000) < 18.5


def test_low_temperature_sharpens_distribution() -> None:
    counts = draws([0.6, 0.3, 0.1], SamplingParams(temperature=0.5, seed=12), 10_000)
    squares = {0: 0.36, 1: 0.09, 2: 0.01}
    assert chi_square(counts, {k: v / 0.46 for k, v in squares.items()}, 10_000) < 13.8


def test_top_k_keeps_k_likeliest_in_proportion() -> None:
    counts = draws([0.1, 0.4, 0.2, 0.3], SamplingParams(top_k=2, seed=13), 10_000)
    assert chi_square(counts, {1: 4 / 7, 3: 3 / 7}, 10_000) < 10.8


def test_top_p_keeps_smallest_set_that_reaches_it() -> None:
    counts = draws([0.1, 0.45, 0.2, 0.25], SamplingParams(top_p=0.6, seed=14), 10_000)
    assert chi_square(counts, {1: 0.45 / 0.7, 3: 0.25 / 0.7}, 10_000) < 10.8


def test_top_p_applies_to_mass_kept_by_top_k() -> None:
    # The first token has 4/7 > 0.5 of the mass of [0.4, 0.3], but only 0.4 < 0.5 of the whole vocabulary's.
    assert set(draws([0.4, 0.3, 0.2, 0.1], SamplingParams(top_k=2, top_p=0.5, seed=15), 500)) == {0}


@pytest.mark.parametrize("params", [SamplingParams(top_k=1, seed=1), SamplingParams(top_p=1e-9, seed=1)])
def test_narrowest_filter_keeps_likeliest_token(params: SamplingParams) -> None:
    assert set(draws([0.2, 0.5, 0.3], params, 200)) == {1}


def test_top_p_extends_past_first_candidates_if_flat() -> None:
    vocab = 4 * CANDIDATES
    tokens = sampled(
        torch.zeros(1000, vocab), [row(SamplingParams(top_p=0.75, seed=16), position) for position in range(1000)]
    )
    assert 0.9 * 1000 * 2 / 3 < sum(token >= CANDIDATES for token in tokens) < 1.1 * 1000 * 2 / 3
    assert max(tokens) < 3 * CANDIDATES + 1


def test_full_sort_keeps_likeliest() -> None:
    """Sample a nucleus that ends past the first candidates: the second half holds 2/3 of the mass, and top_p is 0.6."""
    half = 2 * CANDIDATES
    counts = draws([0.5] * half + [1.0] * half, SamplingParams(top_p=0.6, seed=18), 400)
    assert min(counts) >= half


def test_token_of_zero_probability_is_never_drawn() -> None:
    probabilities = [0.0, 0.5, 0.0, 0.5, 0.0]
    assert set(draws(probabilities, SamplingParams(seed=17), 2000)) == {1, 3}
    assert set(draws(probabilities, SamplingParams(top_k=4, seed=17), 2000)) == {1, 3}


@pytest.mark.parametrize("mass", [1.0, 0.3, 3e-5])
@pytest.mark.parametrize("gap", [0, 1, STRETCH - 1, STRETCH, 3 * STRETCH + 5])
def test_ends_of_uniform_range_select_tokens_with_mass(mass: float, gap: int) -> None:
    empty = np.zeros(gap, dtype=np.float32)
    masses = np.concatenate(
        (empty, np.array([mass], dtype=np.float32), empty, np.array([mass], dtype=np.float32), empty)
    )
    ends = np.array([0.0, 0.5 - 2**-53, 0.5, 1 - 2**-53])
    assert invert_cdf(masses, ends) == [gap, gap, 2 * gap + 1, 2 * gap + 1]


def test_inverse_cdf_equals_running_sum_over_vocabulary() -> None:
    masses = torch.softmax(4 * torch.randn(5000, generator=torch.Generator().manual_seed(1)), -1).numpy()
    running = np.cumsum(masses, dtype=np.float64)
    u = np.arange(500) / 500
    expected = np.searchsorted(running, u * running[-1], side="right")
    assert invert_cdf(masses, u) == expected.tolist()


def test_ties_keep_lowest_ids() -> None:
    shares = [0.1, 0.2, 0.2, 0.3, 0.2]
    assert set(draws(shares, SamplingParams(top_k=3, seed=19), 200)) == {1, 2, 3}
    assert set(draws(shares, SamplingParams(top_p=0.45, seed=19), 200)) == {1, 3}


@pytest.mark.parametrize("temperature", [1e-6, 1e-40])
def test_tiny_temperature_is_greedy_without_overflow(temperature: float) -> None:
    logits = torch.tensor([[10.0, 80.0, 79.0]])
    assert sampled(logits, [row(SamplingParams(temperature=temperature, seed=3))]) == [1]


def test_sample_is_independent_of_rest_of_batch() -> None:
    vocab = 5000
    kinds = [
        GREEDY,
        SamplingParams(seed=1),
        SamplingParams(seed=2, temperature=1.7),
        SamplingParams(seed=3, top_p=0.9),
        SamplingParams(seed=4, top_p=0.99999),
        SamplingParams(seed=5, top_k=40),
        SamplingParams(seed=6, top_k=40, top_p=0.5),
        SamplingParams(seed=7, min_p=0.1),
        SamplingParams(seed=8, min_p=0.1, top_p=0.9),
    ]
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(42, vocab, generator=generator)
    rows = [row(kinds[i % len(kinds)], position=i) for i in range(42)]
    alone = [sampled(logits[i : i + 1].clone(), rows[i : i + 1])[0] for i in range(42)]
    assert sampled(logits.clone(), rows) == alone
    some = [int(i) for i in torch.randperm(42, generator=generator)[:17]]
    assert sampled(logits[some], [rows[i] for i in some]) == [alone[i] for i in some]


def test_seed_and_position_determine_sample() -> None:
    logits = torch.zeros(1, 50_000)
    first = sampled(logits.clone(), [row(SamplingParams(seed=9), 100)])
    assert sampled(logits.clone(), [row(SamplingParams(seed=9), 100, produced=50)]) == first
    assert sampled(logits.clone(), [row(SamplingParams(seed=9), 101)]) != first
    assert sampled(logits.clone(), [row(SamplingParams(seed=10), 100)]) != first


def test_stop_tokens_are_barred_before_min_tokens() -> None:
    greedy = SamplingParams(temperature=0.0, min_tokens=3, stop_token_ids=(1, 2))
    drawn = SamplingParams(seed=5, min_tokens=3, stop_token_ids=(1, 2))
    logits = torch.tensor([[1.0, 90.0, 80.0, 2.0]] * 4)
    rows = [row(greedy, produced=2), row(greedy, produced=3), row(drawn, produced=0), row(drawn, produced=3)]
    tokens = sampled(logits, rows)
    assert tokens[:2] == [3, 1]
    assert tokens[2] in (0, 3)
    assert tokens[3] == 1


def test_random_sampling_without_seed_raises() -> None:
    with pytest.raises(EngineError, match="seed"):
        sampled(torch.zeros(1, 8), [row(SamplingParams())])
