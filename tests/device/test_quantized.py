"""Quantized folders on a GPU: logits near those of a plain network with the weights that the codes stand for."""

from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from engine.worker.torch.accelerator import AcceleratorDevice
from models.interface.dense_context import DenseContext
from models.registry import load_model
from models.transformers.quantized import missing_packages
from tests.device.packed_weights import FP8_BLOCK, save_in_fp8, save_rounded
from tests.tiny_architectures import VOCAB, tiny_config, tiny_network

TOLERANCE = 0.02
"""Largest norm of the difference, as a part of the norm of the logits. Kernels compute in 16 bits."""

FP8_TOLERANCE = 0.1
"""The same where the inputs of layers are rounded to FP8. Computed in 16 bits, some of them get another code."""

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
    if missing := missing_packages(method):
        pytest.skip(f"quant_method {method} needs {', '.join(missing)}")
    network = smooth_network()
    save_rounded(network, tmp_path, method, backend)
    assert distance_of_logits(cuda, network, tmp_path) < TOLERANCE


def test_fp8_folder_has_logits_of_its_weights(cuda: AcceleratorDevice, tmp_path: Path) -> None:
    if missing := missing_packages("fp8"):
        pytest.skip(f"quant_method fp8 needs {', '.join(missing)}")
    network = smooth_network()
    with torch.no_grad():
        # Scales that differ by a factor of four. Exchanged ones would move the logits by more than their norm.
        for name, parameter in network.base_model.named_parameters():
            if "_proj" in name:
                parameter[:FP8_BLOCK].mul_(0.25)
    save_in_fp8(network, tmp_path)
    assert distance_of_logits(cuda, network, tmp_path) < FP8_TOLERANCE


def distance_of_logits(cuda: AcceleratorDevice, network: PreTrainedModel, folder: Path) -> float:
    """Return how far the logits of the model in `folder` are from those of `network`, as a part of their norm."""
    ids = torch.randint(3, VOCAB, (40,), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
        expected = network(input_ids=ids[None], use_cache=False).logits[0]
        model = load_model(folder, torch.bfloat16, cuda.torch_device)
        positions = torch.arange(len(ids), device=cuda.torch_device)
        hidden = model.forward(ids.to(cuda.torch_device), positions, DenseContext(model.attention))
        found = model.compute_logits(hidden).cpu()
    return float((found - expected).norm() / expected.norm())
