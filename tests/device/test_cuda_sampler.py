"""The sampler on a GPU: the tokens of a CPU, given the same probabilities or the same seen tokens."""

from dataclasses import replace

import pytest
import torch

from engine.api.sampling_params import SamplingParams
from engine.sampling.adjustments import Adjustments
from engine.sampling.batch_settings import BatchSettings, RequestMemory
from engine.sampling.candidates import Filters, draw_by_id
from engine.sampling.kernel_choice import has_kernels
from engine.sampling.sampler import Sampler, SamplingRow
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
        assert has_kernels(there) == (device.type == "cuda")
        if params.top_k or params.top_p < 1:
            tokens = Filters.of([params] * ROWS, device).draw(there, numbers)
        else:
            tokens = draw_by_id(there, torch.full((ROWS,), params.min_p, device=device), numbers)
        drawn.append(tokens.tolist())
    assert drawn[0] == drawn[1]


def drawn_on_both(cuda: AcceleratorDevice, params: SamplingParams, probs: torch.Tensor, u: torch.Tensor) -> None:
    """Assert that CPU and GPU draw the same tokens from `probs` [R, vocab] with the numbers `u` [R]."""
    found = []
    for device in (torch.device("cpu"), cuda.torch_device):
        there, numbers = probs.to(device), u.to(device)
        if params.top_k or params.top_p < 1:
            found.append(Filters.of([params] * len(probs), device).draw(there, numbers).tolist())
        else:
            found.append(draw_by_id(there, None, numbers).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("vocab", [1, 1000, 1025, 50_257, 262_144])
@pytest.mark.parametrize("params", [SamplingParams(), SamplingParams(top_k=1024), SamplingParams(top_p=0.3)])
def test_equal_tokens_are_drawn_in_order_of_ids(cuda: AcceleratorDevice, params: SamplingParams, vocab: int) -> None:
    """Draw among every third token, all equal, so that candidates are only some of them."""
    probs = torch.zeros(ROWS, vocab)
    probs[:, ::3] = 1 / len(range(0, vocab, 3))
    drawn_on_both(cuda, params, probs, torch.arange(ROWS, dtype=torch.float64) / ROWS)


@pytest.mark.parametrize("params", WAYS.values(), ids=WAYS.keys())
def test_row_without_mass_gets_the_id_of_a_cpu(cuda: AcceleratorDevice, params: SamplingParams) -> None:
    probs = torch.zeros(3, 5000)
    probs[1] = 2.0**-60
    probs[2, -1] = 1.0
    drawn_on_both(cuda, params, probs, torch.tensor([0.0, 0.5, 1 - 2.0**-53], dtype=torch.float64))


@pytest.mark.parametrize("params", WAYS.values(), ids=WAYS.keys())
def test_row_without_numbers_still_gets_an_id(cuda: AcceleratorDevice, params: SamplingParams) -> None:
    probs = torch.full((2, VOCAB), float("nan"), device=cuda.torch_device)
    u = torch.rand(2, dtype=torch.float64, device=cuda.torch_device)
    filters = Filters.of([params] * 2, cuda.torch_device)
    by_id = draw_by_id(probs, torch.full((2,), 0.1, device=cuda.torch_device), u)
    for drawn in (filters.draw(probs, u), by_id):
        assert all(0 <= token < VOCAB for token in drawn.tolist())


@pytest.mark.parametrize("repetition", [0.7, 1.3])
def test_gpu_penalizes_each_seen_token_once(cuda: AcceleratorDevice, repetition: float) -> None:
    """Penalize a long prompt and tokens that are sampled again, and compare the logits bit by bit."""
    params = SamplingParams(
        temperature=0.0, repetition_penalty=repetition, frequency_penalty=0.7, presence_penalty=-0.3, seed=1
    )
    found = []
    for device in (torch.device("cpu"), cuda.torch_device):
        how = Adjustments.of(params, list(range(0, VOCAB, 9)), VOCAB, VOCAB)
        memory = RequestMemory(VOCAB, device)
        settings = BatchSettings([params] * 2, [None, how], memory)
        logits = torch.randn(2, VOCAB, generator=torch.Generator().manual_seed(8))
        logits[:, 5] = logits[:, 9] = 50.0
        seen = []
        for _ in range(60):
            there = logits.to(device, copy=True)
            settings.adjust(there)
            seen.append(there.cpu())
            settings.choose(there, [1, 1])
        found.append(seen)
    for plain, ours in zip(*found, strict=True):
        assert torch.equal(plain, ours)


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
