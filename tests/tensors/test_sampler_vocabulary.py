"""The torch sampler at the vocabularies of large models: the definition in float64, and copies to the host."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.api.sampling_params import SamplingParams
from engine.sampling.adjustments import Adjustments
from engine.sampling.logprobs import token_logprobs
from engine.sampling.masks import words_of_ids
from engine.sampling.sampler import Sampler, SamplingRow
from tests.drawn_tokens import SPREADS, WAYS, assert_drawn
from tests.fake_npu.host_copies import HostCopies
from tests.sizes import Size

VOCABULARIES = (151_936, 262_144)


def logits_of(rows: int, vocab: int, spread: float) -> torch.Tensor:
    """Draw logits of the standard deviation `spread`, of which the last 7 of each row equal 7 others."""
    logits = spread * torch.randn(rows, vocab, generator=torch.Generator().manual_seed(vocab))
    logits[:, -7:] = logits[:, 100:107]
    return logits


def row_of(params: SamplingParams, at: int) -> SamplingRow:
    return SamplingRow(replace(params, seed=977 * at + 5), position=3 + at, produced=0)


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_draws_follow_the_definition(size: Size, spread: float, vocab: int) -> None:
    rows = [row_of(params, at) for at, params in enumerate(list(WAYS.values()) * size.pick(small=1, full=10))]
    logits = logits_of(len(rows), vocab, spread)
    for row, own, token in zip(rows, logits, Sampler().sample(logits.clone(), rows).tolist(), strict=True):
        assert_drawn(own.double().numpy(), row, token)


def test_masked_ids_are_never_drawn() -> None:
    (vocab, _) = VOCABULARIES
    allowed = [9, 10_000, *range(130_000, 130_200), vocab - 1]
    mask = words_of_ids(allowed, vocab)
    rows = [replace(row_of(params, at), mask=mask) for at, params in enumerate(WAYS.values())]
    logits = logits_of(len(rows), vocab, 2.0)
    for row, own, token in zip(rows, logits, Sampler().sample(logits.clone(), rows).tolist(), strict=True):
        masked = np.full(vocab, -np.inf)
        masked[allowed] = own.double().numpy()[allowed]
        assert token in allowed
        assert_drawn(masked, row, token)


def test_ties_across_the_last_candidate_keep_the_lowest_ids() -> None:
    logits = torch.zeros(32, VOCABULARIES[0])
    logits[:, 70_000:70_002] = 1.0
    rows = [row_of(SamplingParams(temperature=2.0, top_k=6), at) for at in range(32)]
    assert set(Sampler().sample(logits, rows).tolist()) == {0, 1, 2, 3, 70_000, 70_001}


@pytest.mark.parametrize("params", WAYS.values(), ids=WAYS.keys())
def test_row_without_numbers_still_gets_an_id(params: SamplingParams) -> None:
    (token,) = Sampler().sample(torch.full((1, 5000), float("nan")), [row_of(params, 1)]).tolist()
    assert 0 <= token < 5000


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
def test_no_copy_has_the_size_of_the_vocabulary(spread: float) -> None:
    (vocab, _) = VOCABULARIES
    penalties = SamplingParams(temperature=0.0, repetition_penalty=1.1, allowed_token_ids=tuple(range(0, vocab, 2)))
    rows = [row_of(params, at) for at, params in enumerate(WAYS.values())]
    rows += [replace(row_of(penalties, 9), adjustments=Adjustments.of(penalties, [1, 2, 3], 2, vocab))]
    logits = logits_of(len(rows), vocab, spread)
    with HostCopies() as copies:
        tokens = Sampler().sample(logits, rows).tolist()
        token_logprobs(logits, tokens, [20] * len(rows))
    assert copies.elements
    # All copies of ten rows together, which are mostly the words of a mask.
    assert sum(copies.elements) < vocab


def test_logprobs_of_many_rows_equal_those_of_each_row() -> None:
    (vocab, _) = VOCABULARIES
    logits = logits_of(15, vocab, 3.0)
    together = token_logprobs(logits, list(range(15)), [at % 5 for at in range(15)])
    assert together == [token_logprobs(logits[at : at + 1], [at], [at % 5])[0] for at in range(15)]
    expected = logits.double().log_softmax(-1)[14, 14].item()
    assert together[14].logprob == pytest.approx(expected, abs=1e-4)
