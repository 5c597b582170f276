"""Comparison of the sampler with transformers' logits processors, the de facto definition of these settings."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
from transformers.generation import logits_process as hf

from engine.api.sampling_params import SamplingParams
from engine.sampling.adjustments import Adjustments
from engine.sampling.masks import ends_of_phrases
from engine.sampling.sampler import Sampler, SamplingRow

LOGITS = torch.tensor([[2.0, 1.5, 1.2, 0.9, 0.3, 0.0, -0.5, -1.0, -1.7, -2.5]])
PROMPT, ANSWER = [1, 7], [0, 3, 3, 5]
TOKENS = [[*PROMPT, *ANSWER]]
DRAWS = 2000

CASES = {
    "temperature": (SamplingParams(temperature=0.6), [hf.TemperatureLogitsWarper(0.6)]),
    "temperature far above 2": (SamplingParams(temperature=9.0), [hf.TemperatureLogitsWarper(9.0)]),
    "top_k": (SamplingParams(top_k=4), [hf.TopKLogitsWarper(4)]),
    "top_p": (SamplingParams(top_p=0.8), [hf.TopPLogitsWarper(0.8)]),
    "min_p": (SamplingParams(min_p=0.2), [hf.MinPLogitsWarper(0.2)]),
    "all of these": (
        SamplingParams(temperature=1.3, top_k=7, top_p=0.9, min_p=0.15),
        [
            hf.TemperatureLogitsWarper(1.3),
            hf.TopKLogitsWarper(7),
            hf.TopPLogitsWarper(0.9),
            hf.MinPLogitsWarper(0.15),
        ],
    ),
    "repetition penalty": (
        SamplingParams(repetition_penalty=1.7),
        [hf.RepetitionPenaltyLogitsProcessor(1.7)],
    ),
    "biases": (
        SamplingParams(logit_bias=((4, 2.5), (0, -100.0))),
        [hf.SequenceBiasLogitsProcessor([[[4], 2.5], [[0], -100.0]])],
    ),
    "bad words": (
        SamplingParams(bad_words=("any",), bad_word_ids=((2,), (5, 1), (3, 4), (3, 5, 6))),
        [hf.NoBadWordsLogitsProcessor([[2], [5, 1], [3, 4], [3, 5, 6]], eos_token_id=9)],
    ),
    "the least length": (
        SamplingParams(min_tokens=5, stop_token_ids=(0, 9)),
        [hf.MinNewTokensLengthLogitsProcessor(len(PROMPT), 5, [0, 9])],
    ),
    "several kinds": (
        SamplingParams(
            temperature=0.8, repetition_penalty=1.3, logit_bias=((7, 1.5),), bad_word_ids=((1,),), top_p=0.9
        ),
        [
            hf.SequenceBiasLogitsProcessor([[[7], 1.5]]),
            hf.RepetitionPenaltyLogitsProcessor(1.3),
            hf.NoBadWordsLogitsProcessor([[1]], eos_token_id=9),
            hf.TemperatureLogitsWarper(0.8),
            hf.TopPLogitsWarper(0.9),
        ],
    ),
}


def drawn(params: SamplingParams, count: int) -> Counter[int]:
    tokens = [*PROMPT, *ANSWER]
    rows = [
        SamplingRow(
            params,
            position,
            produced=len(ANSWER),
            adjustments=Adjustments.of(params, tokens, len(PROMPT), LOGITS.shape[1]),
            ends_of_phrases=ends_of_phrases(params.bad_word_ids, tokens),
        )
        for position in range(count)
    ]
    return Counter(Sampler().sample(LOGITS.repeat(count, 1), rows).tolist())


@pytest.mark.parametrize(("params", "processors"), CASES.values(), ids=CASES.keys())
def test_draws_follow_distribution_of_transformers(
    params: SamplingParams, processors: list[hf.LogitsProcessor]
) -> None:
    scores = hf.LogitsProcessorList(processors)(torch.LongTensor(TOKENS), torch.FloatTensor(LOGITS.tolist()))
    expected = torch.softmax(scores[0], dim=-1).tolist()
    counts = drawn(replace(params, seed=21), DRAWS)
    assert {token for token, share in enumerate(expected) if share == 0}.isdisjoint(counts)
    likely = {token: share * DRAWS for token, share in enumerate(expected) if share * DRAWS >= 5}
    statistic = sum((counts[token] - share) ** 2 / share for token, share in likely.items())
    # Up to 9 degrees of freedom: one seed in a thousand exceeds 27.9, and the seed is fixed.
    assert statistic < 27.9


@pytest.mark.parametrize(("frequency", "presence"), [(0.7, 0.0), (0.0, 1.1), (-0.5, 0.4)])
def test_presence_counts_once_and_frequency_per_occurrence(frequency: float, presence: float) -> None:
    """Check the penalties against OpenAI's documentation, because transformers has neither."""
    params = SamplingParams(frequency_penalty=frequency, presence_penalty=presence, seed=21)
    logits = LOGITS[0].clone()
    for token, count in Counter(ANSWER).items():
        logits[token] -= frequency * count + presence
    expected = (torch.softmax(logits, dim=-1) * DRAWS).tolist()
    counts = drawn(params, DRAWS)
    assert sum((counts[token] - share) ** 2 / share for token, share in enumerate(expected)) < 27.9


def test_only_allowed_tokens_are_drawn() -> None:
    assert set(drawn(SamplingParams(seed=1, allowed_token_ids=(3, 9)), 500)) == {3, 9}
    assert set(drawn(SamplingParams(temperature=0.0, allowed_token_ids=(3, 9)), 5)) == {3}


def test_sampled_tokens_count_for_penalties_of_next_sample() -> None:
    params = SamplingParams(temperature=0.0, frequency_penalty=2.0)
    adjustments = Adjustments.of(params, [1, 2], 2, LOGITS.shape[1])
    row = SamplingRow(params, 0, 0, adjustments=adjustments)
    sampler = Sampler()
    assert [sampler.sample(LOGITS.clone(), [row]).item() for _ in range(5)] == [0, 1, 2, 3, 4]
