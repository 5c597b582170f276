"""Comparison of the transformers backend, over paged KV and mixed batches, with transformers alone."""

import torch
from transformers import PreTrainedModel

from models.transformers.model import TransformersForCausalLM
from tests.paged_pass import PagedSequences
from tests.tiny_architectures import VOCAB

LENGTHS = (50, 37, 41)

STEPS = (
    ((0, 30), (1, 36)),
    ((0, 19), (1, 1), (2, 10)),
    ((2, 7), (0, 1)),
    ((2, 23),),
    ((2, 1),),
)
"""Steps as pairs of a prompt and a number of tokens: chunks that end inside blocks, chunks with decodes, decodes."""

TOLERANCE = 2e-4
"""Largest difference of two logits in float32, as a part of their standard deviation."""


def assert_equals_transformers_alone(network: PreTrainedModel, backend: str = "reference") -> TransformersForCausalLM:
    """Assert that the logits of every position equal those of eager attention, each prompt alone and at once.

    The network computes on its own device.
    """
    generator = torch.Generator().manual_seed(1)
    prompts = [torch.randint(3, VOCAB, (count,), generator=generator).to(network.device) for count in LENGTHS]
    with torch.inference_mode():
        expected = [network(input_ids=ids[None], use_cache=False).logits[0].float() for ids in prompts]
    model = TransformersForCausalLM(network)
    sequences = PagedSequences(model, prompts, backend)
    for work in STEPS:
        sequences.step(work)
    for found, logits in zip(sequences.logits, expected, strict=True):
        assert float((found - logits).abs().max() / logits.std()) < TOLERANCE
        assert torch.equal(found.argmax(-1), logits.argmax(-1))
    return model
