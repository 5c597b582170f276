"""Torch models with weights packed for oneDNN, compared with plain ones. Collected only on CPUs that support it."""

import weakref
from pathlib import Path

import pytest
import torch

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.worker.worker import Worker
from models.decoder.model import EMBEDDING, DecoderForCausalLM
from models.interface.dense_context import DenseContext
from models.weights.folder import ModelFolder
from models.weights.weights import map_tensor
from tests.native_rig import load_bfloat16
from tests.tiny_models import make_tiny_model


def logits(model: DecoderForCausalLM, ids: torch.Tensor) -> torch.Tensor:
    return model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))


def prepacked(folder: Path) -> DecoderForCausalLM:
    model = load_bfloat16(folder)
    model.prepack(map_tensor(ModelFolder(folder).weight_files(), EMBEDDING))
    return model


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
@pytest.mark.parametrize("architecture", ["LlamaForCausalLM", "PanguEmbeddedForCausalLM"])
def test_packed_weights_match_logits_of_plain_ones(tmp_path: Path, architecture: str, tied: bool) -> None:
    """Load a float32 checkpoint, so the mapped rows of a tied embedding must be rounded as the plain weights are."""
    bias = architecture == "PanguEmbeddedForCausalLM"
    folder = make_tiny_model(tmp_path / "model", architecture=architecture, bias=bias, tied=tied, hidden=96, heads=6)
    for rows in (1, 7, 40):
        ids = torch.arange(20, 20 + rows)
        expected = logits(load_bfloat16(folder), ids)
        torch.testing.assert_close(logits(prepacked(folder), ids), expected, rtol=0.02, atol=0.03)


def test_packed_real_model_agrees_with_plain_one(model_path: Path) -> None:
    ids = torch.randint(1000, 40_000, (200,), generator=torch.Generator().manual_seed(3))
    plain, packed = logits(load_bfloat16(model_path), ids), logits(prepacked(model_path), ids)
    divergence = (plain.softmax(-1) * (plain.log_softmax(-1) - packed.log_softmax(-1))).sum(-1)
    assert float(divergence.mean()) < 0.001
    assert float((plain.argmax(-1) == packed.argmax(-1)).float().mean()) > 0.97


@pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
def test_prepack_frees_plain_weights(tmp_path: Path, tied: bool) -> None:
    folder = make_tiny_model(tmp_path / "model", tied=tied)
    model = load_bfloat16(folder)
    linears = [model._head, *(linear for layer in model._layers for linear in layer.linears())]
    plain = [weakref.ref(linear.weight) for linear in linears]
    assert len(plain) == 2 * 4 + 1
    model.prepack(map_tensor(ModelFolder(folder).weight_files(), EMBEDDING))
    assert [weight() for weight in plain if weight() is not None] == []


def test_packed_and_plain_model_have_distinct_numerics_ids(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "model")
    names = []
    for kernels in ("onednn", "torch"):
        worker = Worker(
            EngineConfig(
                model=ModelConfig(path=folder, name="tiny"),
                cache=CacheConfig(tiers=None, secret=b"secret"),
                device=DeviceConfig(cpu_kernels=kernels),
            )
        )
        worker.load()
        names.append(worker.numerics_id())
        worker.close()
    assert ";onednn;" in names[0]
    assert ";torch;" in names[1]
