"""The sampler on a GPU: the tokens of a CPU, given the same probabilities or the same seen tokens."""

from dataclasses import replace

import pytest
import torch

from engine.sampling.adjustments import Adjustments
from engine.sampling.candidates import Filters, draw_by_id
from engine.sampling.sampler import Sampler, SamplingRow
from engine.sampling_params import SamplingParams
from engine.worker.torch.accelerator import AcceleratorDevice
from tests.drawn_tokens import SPREADS, WAYS

VOCAB, ROWS = 151_936, 32


@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS.keys())
@pytest.mark.parametrize("params", WAYS.values(), ids=WAYS.keys())
def test_gpu_draws_the_tokens_of_a_cpu(cuda: AcceleratorDevice, params: SamplingParams, spread: float) -> None:
    generator = torch.Generator().manual_seed(5)
    probs = torch.softmax(spread * torch.randn(ROWS, VOCAB, generator=generator), -1)
    u = torch.rand(ROWS, dtype=torch.float64, generator=generator)
    drawn = []
    for device in (torch.device("cpu"), cuda.torch_device):
        there, numbers = probs.to(device), u.to(device)
        if params.top_k or params.top_p < 1:
            tokens = Filters.of([params] * ROWS, device).draw(there, numbers)
        else:
            tokens = draw_by_id(there, torch.full((ROWS,), params.min_p, device=device), numbers)
        drawn.append(tokens.tolist())
    assert drawn[0] == drawn[1]


def test_gpu_counts_sampled_tokens_like_a_cpu(cuda: AcceleratorDevice) -> None:
    params = SamplingParams(temperature=0.0, repetition_penalty=1.3, frequency_penalty=0.5, presence_penalty=0.3)
    logits = torch.randn(4, 500, generator=torch.Generator().manual_seed(6))
    found = []
    for device in (torch.device("cpu"), cuda.torch_device):
        sampler, tokens = Sampler(), list[list[int]]()
        adjusted = [Adjustments.of(params, [1, 2, 3 + at], 3, 500) for at in range(4)]
        for step in range(20):
            rows = [SamplingRow(replace(params, seed=1), 3 + step, step, adjustments=how) for how in adjusted]
            tokens.append(sampler.sample(logits.to(device, copy=True), rows).tolist())
        found.append(tokens)
    assert found[0] == found[1]
