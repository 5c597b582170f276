"""Draws and penalties of a GPU, interpreted and compared with plain torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import torch

from engine.api.sampling_params import SamplingParams
from engine.sampling import candidates, seen_table, triton_draws
from engine.sampling.adjustments import Adjustments
from engine.sampling.candidates import CANDIDATES, Filters, draw_by_id
from engine.sampling.sampler import Sampler, SamplingRow
from tests.drawn_tokens import SPREADS, WAYS

CPU = torch.device("cpu")
ROWS = 4
LAST = 1 - 2.0**-53
"""Largest number that a generator gives."""
VOCABULARIES = (1, 7, 1024, 1025, 9001)
MORE_WAYS = {
    **WAYS,
    "min_p of one": SamplingParams(min_p=1.0),
    "top_k of many and min_p": SamplingParams(top_k=5000, min_p=0.5),
}
EACH_WAY = pytest.mark.parametrize("params", MORE_WAYS.values(), ids=MORE_WAYS.keys())
EACH_SPREAD = pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
PENALTIES = SamplingParams(temperature=0.8, repetition_penalty=1.3, frequency_penalty=0.7, presence_penalty=0.3)


@contextmanager
def kernels() -> Iterator[None]:
    """Sample with interpreted kernels, although tensors are on a CPU."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (candidates, seen_table):
            patch.setattr(module, "has_kernels", lambda _: True)
        yield


def probabilities(vocab: int, spread: float) -> torch.Tensor:
    """Create rows [ROWS, vocab] of that spread, where a third of the tokens equals another third."""
    logits = spread * torch.randn(ROWS, vocab, generator=torch.Generator().manual_seed(vocab))
    third = vocab // 3
    logits[:, vocab - third :] = logits[:, :third]
    return torch.softmax(logits, -1)


def numbers() -> torch.Tensor:
    """Create random numbers [ROWS] with both ends of their range."""
    u = torch.rand(ROWS, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    u[0], u[1] = 0.0, LAST
    return u


def draw(params: SamplingParams, probs: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
    if params.top_k or params.top_p < 1:
        return Filters.of([params] * len(probs), CPU).draw(probs, u)
    return draw_by_id(probs, torch.full((len(probs),), params.min_p) if params.min_p else None, u)


def assert_same(params: SamplingParams, probs: torch.Tensor, u: torch.Tensor) -> None:
    expected = draw(params, probs, u)
    with kernels():
        found = draw(params, probs, u)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("vocab", VOCABULARIES)
@EACH_SPREAD
@EACH_WAY
def test_kernels_draw_the_tokens_of_torch(params: SamplingParams, spread: float, vocab: int) -> None:
    assert_same(params, probabilities(vocab, spread), numbers())


@EACH_SPREAD
@EACH_WAY
def test_kernel_finds_the_rows_that_keep_many_tokens(params: SamplingParams, spread: float) -> None:
    probs, u = probabilities(3000, spread), numbers()
    filters = Filters.of([params] * ROWS, CPU)
    ordered, names = probs.topk(CANDIDATES, dim=1)
    _, expected = filters._among(ordered, probs, u)
    _, found = triton_draws.draw_candidates(probs, ordered, names, (filters.top_k, filters.top_p, filters.min_p), u)
    assert found.dtype == torch.bool
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("borders", [(4095, 4096), (8190, 8193), (0, 9999)])
def test_equal_tokens_across_blocks_are_drawn_in_order_of_ids(borders: tuple[int, int]) -> None:
    """Draw the two likeliest tokens, which are around the border of blocks, and the lowest ids of the equal others."""
    probs = torch.full((8, 10_000), 1e-5)
    probs[:, list(borders)] = 0.3
    u = (torch.arange(8, dtype=torch.float64) + 0.5) / 8
    assert_same(SamplingParams(top_k=6), probs, u)
    assert_same(SamplingParams(top_k=2), probs, u)
    assert_same(SamplingParams(), probs, u)


def test_tokens_equal_to_the_last_candidate_are_found_in_the_row() -> None:
    """Draw the last of the equal tokens in a block, the first one of the next block, and others."""
    probs = torch.zeros(6, 10_000)
    probs[:, 3::7] = 2.0**-11
    ends = [len(range(3, border, 7)) for border in (4096, 8192)]
    ranks = torch.tensor([0, ends[0] - 1, ends[0], 900, 1000, 1023])
    assert_same(SamplingParams(top_k=1024), probs, (ranks + 0.5).double() / 1024)
    by_id = torch.tensor([0, ends[0] - 1, ends[0], ends[1] - 1, ends[1], len(range(3, 10_000, 7)) - 1])
    assert_same(SamplingParams(), probs, (by_id + 0.5).double() / len(range(3, 10_000, 7)))


@EACH_WAY
@pytest.mark.parametrize("vocab", [5, 5000])
def test_row_without_mass_gets_the_id_of_torch(params: SamplingParams, vocab: int) -> None:
    probs = torch.zeros(ROWS, vocab)
    probs[1] = 2.0**-60
    probs[2, -1] = 1.0
    probs[3, vocab // 2] = 2.0**-52
    assert_same(params, probs, numbers())


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")
@EACH_WAY
def test_row_without_numbers_still_gets_an_id(params: SamplingParams) -> None:
    with kernels():
        drawn = draw(params, torch.full((1, 5000), float("nan")), numbers()[:1])
    assert 0 <= drawn.item() < 5000


def test_filters_differ_between_rows() -> None:
    params = [*WAYS.values(), SamplingParams(top_k=1024), SamplingParams(top_k=1025), SamplingParams(top_k=1)]
    probs, u = probabilities(3000, 1.0).repeat(3, 1), numbers().repeat(3)
    expected = Filters.of(params, CPU).draw(probs, u)
    with kernels():
        assert Filters.of(params, CPU).draw(probs, u).tolist() == expected.tolist()


def steps_of(params: SamplingParams, vocab: int) -> tuple[list[list[int]], list[torch.Tensor]]:
    """Sample 40 steps of three requests that repeat tokens, and return the tokens and the penalized logits."""
    sampler, tokens, penalized = Sampler(), list[list[int]](), list[torch.Tensor]()
    prompts = ([1, 2, 2, 3], list(range(0, vocab, 3)), [5])
    adjusted = [None, *(Adjustments.of(params, prompt, len(prompt), vocab) for prompt in prompts)]
    for step in range(40):
        logits = 2 * torch.randn(1, vocab, generator=torch.Generator().manual_seed(step % 4)).repeat(4, 1)
        rows = [
            SamplingRow(replace(params, seed=at), 100 + step, step, adjustments=how) for at, how in enumerate(adjusted)
        ]
        before = logits.clone()
        sampler._settings_of(before, rows).adjust(before)
        penalized.append(before)
        tokens.append(sampler.sample(logits, rows).tolist())
    return tokens, penalized


@pytest.mark.parametrize("params", [PENALTIES, replace(PENALTIES, repetition_penalty=0.7, frequency_penalty=-1.1)])
def test_steps_with_penalties_equal_those_of_torch(params: SamplingParams) -> None:
    expected, expected_logits = steps_of(params, 4000)
    assert any(len(set(column)) < len(column) for column in zip(*expected, strict=True))
    with kernels():
        found, logits = steps_of(params, 4000)
    assert found == expected
    for ours, plain in zip(logits, expected_logits, strict=True):
        assert torch.equal(ours, plain)


def test_token_that_is_sampled_again_is_listed_once() -> None:
    sampler = Sampler()
    params = replace(PENALTIES, temperature=0.0, seed=1)
    how = Adjustments.of(params, [7, 8], 2, 50)
    with kernels():
        for step in range(6):
            logits = torch.zeros(1, 50)
            logits[0, 8 + step % 2] = 100.0
            sampler.sample(logits, [SamplingRow(params, 2 + step, step, adjustments=how)])
    assert sampler._memory is not None
    table = sampler._memory.seen
    assert table._ends.tolist() == [3]
    assert table._ids[0, :3].tolist() == [7, 8, 9]
    assert table._counts[0, [7, 8, 9]].tolist() == [0, 3, 3]
