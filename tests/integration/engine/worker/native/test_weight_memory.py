"""Memory of weights as it is estimated from headers, compared with that of the loaded model."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.multiplier import Multiplier, PackedMatrix
from engine.cpu.weights import PackedModel
from engine.worker.native.weight_memory import WeightMemory, weight_memory
from engine.worker.worker import Worker
from models.decoder.model import DecoderForCausalLM
from models.gguf_import.convert import convert_gguf
from models.interface.causal_lm import MatrixRole
from models.registry import summarize
from models.transformers.model import TransformersForCausalLM
from models.weights.folder import ModelFolder
from models.weights.stored import read_stored_weights
from tests.family_models import save_family
from tests.native_rig import KernelsFor
from tests.tiny_architectures import tiny_config, tiny_network
from tests.tiny_gguf import MIXES, write_block_gguf

MOST = 1.03
"""Largest accepted ratio of two sizes: the estimate counts no padding of rows, and norms like other weights."""


@pytest.fixture
def config(tmp_path: Path, kernels: KernelsFor) -> EngineConfig:
    cache_dir = kernels("auto").build.path.parent.parent
    return EngineConfig(
        model=ModelConfig(path=tmp_path / "model", name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        device=DeviceConfig(cache_dir=cache_dir, packed_size=0),
    )


def estimated(config: EngineConfig) -> WeightMemory:
    decoder = summarize(config.model.path, getattr(torch, config.model.dtype), config.device.kind).decoder
    return weight_memory(read_stored_weights(ModelFolder(config.model.path)), decoder, config)


def loaded(config: EngineConfig) -> int:
    """Load the model and return the bytes of its weights."""
    worker = Worker(config)
    worker.load()
    model = worker.model
    assert isinstance(model, PackedModel | DecoderForCausalLM)
    nbytes = model.nbytes if isinstance(model, PackedModel) else sum(slot.nbytes for slot in model.slots().values())
    worker.close()
    return nbytes


def is_near(found: int, expected: int) -> bool:
    return expected / MOST < found < expected * MOST


@pytest.mark.parametrize("quantization", ["none", "int8", "int4"])
@pytest.mark.parametrize("name", ["qwen2", "qwen2, tied"])
def test_estimate_is_the_size_of_quantized_weights(config: EngineConfig, name: str, quantization: str) -> None:
    save_family(config.model.path, name)
    config = config.with_fields(quantization=quantization)
    assert is_near(estimated(config).held, loaded(config))


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("types", [{"": "Q4_0"}, {"": "Q5_0"}, MIXES["Q4_K_M"]], ids=["Q4_0", "Q5_0", "Q4_K_M"])
def test_estimate_is_the_size_of_packed_blocks(config: EngineConfig, types: Mapping[str, str], tied: bool) -> None:
    config.model.path.mkdir()
    file = write_block_gguf(config.model.path.with_suffix(".gguf"), types, tied=tied)
    convert_gguf(file, config.model.path, lambda _: None, keep_blocks=True)
    memory = estimated(config)
    assert memory.keeps_blocks
    assert is_near(memory.held, loaded(config))
    assert memory.loading == memory.held
    in_torch = config.with_fields(dtype="float32")
    assert is_near(estimated(in_torch).held, loaded(in_torch))


def test_weights_are_loaded_as_they_are_before_quantization(config: EngineConfig) -> None:
    save_family(config.model.path, "qwen2")
    plain = estimated(config)
    quantized = estimated(config.with_fields(quantization="int4"))
    assert 3 * quantized.held < 2 * plain.held
    assert quantized.loading == plain.loading == plain.held


@pytest.mark.parametrize("weights", ["none", "int4"])
@pytest.mark.parametrize("tied", [False, True])
def test_estimate_is_the_size_of_native_matrices(
    config: EngineConfig, kernels: KernelsFor, tied: bool, weights: str
) -> None:
    network = tiny_network(tiny_config("olmo2", tie_word_embeddings=tied), torch.bfloat16)
    network.save_pretrained(config.model.path)
    packer = CountingMultiplier(kernels("auto"), threads=1, weights="bfloat16" if weights == "none" else weights)
    TransformersForCausalLM(network).pack_matrices(packer)
    left = sum(parameter.nbytes for parameter in network.parameters())
    assert is_near(estimated(config.with_fields(quantization=weights)).held, packer.nbytes + left)


class CountingMultiplier(Multiplier):
    """Multiplier that counts the bytes of its matrices."""

    nbytes = 0

    def pack(self, weight: torch.Tensor, bias: torch.Tensor | None, role: MatrixRole) -> PackedMatrix:
        matrix = super().pack(weight, bias, role)
        self.nbytes += matrix._memory.nbytes
        return matrix


def test_folder_of_other_quantizers_keeps_its_bytes(config: EngineConfig) -> None:
    save_family(config.model.path, "qwen2")
    file = config.model.path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quantization_config": {"quant_method": "awq"}}))
    stored = read_stored_weights(ModelFolder(config.model.path))
    (weights,) = config.model.path.glob("*.safetensors")
    held = weights.stat().st_size
    assert weight_memory(stored, None, config.with_fields(kind="cuda")) == WeightMemory(held, held)
