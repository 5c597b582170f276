"""Networks of transformers on a GPU, through the attention that a server would choose: transformers' own logits."""

import pytest
import torch
from transformers import PreTrainedModel

from engine.attention.backend import AttentionSpec
from engine.attention.selector import select_backend
from engine.worker.torch.accelerator import AcceleratorDevice
from models.transformers.model import TransformersForCausalLM
from models.transformers.tested import TESTED
from tests.paged_pass import BLOCK
from tests.tiny_architectures import tiny_config, tiny_network
from tests.transformers_agreement import assert_equals_transformers_alone


def network_on(device: AcceleratorDevice, model_type: str, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    network: PreTrainedModel = tiny_network(tiny_config(model_type), dtype).to(device.torch_device)
    return network


@pytest.mark.parametrize("model_type", sorted(TESTED))
def test_logits_equal_those_of_transformers_alone(cuda: AcceleratorDevice, model_type: str) -> None:
    assert_equals_transformers_alone(network_on(cuda, model_type), "auto")


@pytest.mark.parametrize(
    "model_type", ["deepseek_v3", "gemma2", "gemma3_text", "gpt_oss", "llama4_text", "phi3", "qwen2"]
)
def test_kernel_computes_every_rule_of_attention(cuda: AcceleratorDevice, model_type: str) -> None:
    model = TransformersForCausalLM(network_on(cuda, model_type, torch.bfloat16))
    spec = AttentionSpec("cuda", torch.bfloat16, model.attention, BLOCK)
    assert select_backend(spec).name == "cuda"
