"""Every architecture that docs/reference/models.md lists as tested."""

import pytest
import torch

from engine.cpu.multiplier import Multiplier
from models.transformers.model import TransformersForCausalLM
from models.transformers.tested import TESTED
from tests.many_models import MARK
from tests.native_rig import KernelsFor
from tests.paged_pass import PagedSequences
from tests.tiny_architectures import VOCAB, tiny_config, tiny_network
from tests.transformers_agreement import assert_equals_transformers_alone

pytestmark = MARK


@pytest.mark.parametrize("model_type", sorted(TESTED))
def test_logits_equal_those_of_transformers_alone(model_type: str) -> None:
    assert_equals_transformers_alone(tiny_network(tiny_config(model_type)))


@pytest.mark.parametrize("model_type", sorted(TESTED))
def test_native_matrices_give_the_logits_of_plain_ones(model_type: str, kernels: KernelsFor) -> None:
    model = TransformersForCausalLM(tiny_network(tiny_config(model_type), torch.bfloat16))
    plain = logits(model)
    model.pack_matrices(Multiplier(kernels("auto"), threads=2, weights="bfloat16"))
    errors = (logits(model) - plain).norm(dim=-1) / plain.norm(dim=-1)
    assert float(errors.median()) < 0.1


def logits(model: TransformersForCausalLM) -> torch.Tensor:
    ids = torch.randint(3, VOCAB, (40,), generator=torch.Generator().manual_seed(1))
    sequences = PagedSequences(model, [ids], "torch")
    sequences.step([(0, 40)])
    return sequences.logits[0]
