"""Quantized folders on a GPU: logits near those of a plain network with the weights that the codes stand for."""

from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from engine.worker.torch.accelerator import AcceleratorDevice
from models.dense_context import DenseContext
from models.registry import load_model
from models.transformers.quantized import PACKAGES
from tests.device.packed_weights import save_rounded
from tests.tiny_architectures import VOCAB, tiny_config, tiny_network

TOLERANCE = 0.02
"""Largest norm of the difference, as a part of the norm of the logits. Kernels compute in 16 bits."""

SIZES = {"hidden_size": 256, "intermediate_size": 512, "head_dim": 64, "num_hidden_layers": 2}


def smooth_network() -> PreTrainedModel:
    """Make a float32 network with small weights, so that rounding to 16 bits moves its logits by only 0.9 %."""
    network = tiny_network(tiny_config("llama", **SIZES))
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() >= 2:
                parameter.mul_(0.25)
    return network


@pytest.mark.parametrize(
    ("method", "backend"), [("gptq", "torch"), ("gptq", "triton"), ("awq", "torch_awq"), ("awq", "gemm_triton")]
)
def test_quantized_folder_has_logits_of_its_weights(
    cuda: AcceleratorDevice, tmp_path: Path, method: str, backend: str
) -> None:
    if missing := [name for name in PACKAGES[method] if find_spec(name) is None]:
        pytest.skip(f"quant_method {method} needs {', '.join(missing)}")
    network = smooth_network()
    save_rounded(network, tmp_path, method, backend)
    ids = torch.randint(3, VOCAB, (40,), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
        expected = network(input_ids=ids[None], use_cache=False).logits[0]
        model = load_model(tmp_path, torch.bfloat16, cuda.torch_device)
        positions = torch.arange(len(ids), device=cuda.torch_device)
        hidden = model.forward(ids.to(cuda.torch_device), positions, DenseContext(model.attention))
        found = model.compute_logits(hidden).cpu()
    assert float((found - expected).norm() / expected.norm()) < TOLERANCE
