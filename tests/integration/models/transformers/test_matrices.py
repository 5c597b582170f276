"""Networks of transformers over native matrices: values, equal bits whatever the batch, memory, identity."""

import gc
import weakref
from pathlib import Path

import pytest
import torch
from transformers import PreTrainedModel

from engine.api.errors import EngineError
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig
from engine.cpu.library import BFLOAT16_FORMATS
from engine.cpu.multiplier import Multiplier
from engine.worker.worker import Worker
from models.errors import UnsupportedModelError
from models.interface.causal_lm import HasMatrices
from models.transformers.model import TransformersForCausalLM
from tests.integration.worker_driver import WorkerDriver
from tests.many_models import combinations
from tests.native_rig import KernelsFor
from tests.paged_pass import PagedSequences
from tests.tiny_architectures import VOCAB, tiny_config, tiny_network

LENGTHS = (50, 20, 37, 41)
ARCHITECTURES = ("llama", "gemma3_text", "gpt2", "deepseek_v3", "qwen2_moe", "gpt_oss", "phimoe")


def network_of(model_type: str, **changes: object) -> PreTrainedModel:
    return tiny_network(tiny_config(model_type, **changes), torch.bfloat16)


def prompts() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(3, VOCAB, (count,), generator=generator) for count in LENGTHS]


def logits_alone(model: TransformersForCausalLM) -> list[torch.Tensor]:
    """Compute each prompt alone: all tokens but four at once, then one by one."""
    found = []
    for ids in prompts():
        sequences = PagedSequences(model, [ids], "torch")
        first = max(1, len(ids) - 4)
        for count in (first, *[1] * (len(ids) - first)):
            sequences.step([(0, count)])
        found.append(sequences.logits[0])
    return found


def logits_together(model: TransformersForCausalLM) -> list[torch.Tensor]:
    """Compute the prompts in one batch, with the same chunks as alone."""
    sequences = PagedSequences(model, prompts(), "torch")
    sequences.step([(index, max(1, count - 4)) for index, count in enumerate(LENGTHS)])
    for _ in range(4):
        sequences.step([(index, 1) for index, count in enumerate(LENGTHS) if count > 1])
    return sequences.logits


def error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """Return the median error of the rows of logits, as a part of their size."""
    return float(((found - expected).norm(dim=-1) / expected.norm(dim=-1)).median())


@pytest.mark.parametrize("model_type", ARCHITECTURES)
def test_native_matrices_give_the_networks_logits(model_type: str, kernels: KernelsFor) -> None:
    model = TransformersForCausalLM(network_of(model_type))
    assert isinstance(model, HasMatrices)
    plain = logits_alone(model)
    model.pack_matrices(Multiplier(kernels("auto"), threads=2, weights="bfloat16"))
    for found, expected in zip(logits_alone(model), plain, strict=True):
        assert error(found, expected) < 0.1


@pytest.mark.parametrize(("model_type", "weights"), combinations(ARCHITECTURES, BFLOAT16_FORMATS))
def test_sequence_alone_equals_the_sequence_in_a_batch(model_type: str, weights: str, kernels: KernelsFor) -> None:
    model = TransformersForCausalLM(network_of(model_type))
    model.pack_matrices(Multiplier(kernels("auto"), threads=2, weights=weights))
    for alone, together in zip(logits_alone(model), logits_together(model), strict=True):
        assert torch.equal(alone, together)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("model_type", ["llama", "gemma3_text", "qwen3_moe"])
def test_plain_matrices_are_freed(model_type: str, tied: bool, kernels: KernelsFor) -> None:
    network = network_of(model_type, tie_word_embeddings=tied)
    model = TransformersForCausalLM(network)
    matrices = [weakref.ref(p) for name, p in network.named_parameters() if p.dim() > 1 and _is_packed(name, tied)]
    assert len(matrices) > 8
    before = logits_alone(model)
    model.pack_matrices(Multiplier(kernels("auto"), threads=2, weights="bfloat16"))
    gc.collect()
    assert [matrix for matrix in matrices if matrix() is not None] == []
    for found, expected in zip(logits_alone(model), before, strict=True):
        assert error(found, expected) < 0.1


def _is_packed(name: str, tied: bool) -> bool:
    if "embed" in name:
        return tied
    return not name.endswith("mlp.gate.weight")


def test_network_that_reads_a_freed_weight_is_refused(kernels: KernelsFor) -> None:
    network = network_of("llama")
    model = TransformersForCausalLM(network)
    layer = network.get_submodule("model.layers.0.mlp.down_proj")
    assert isinstance(layer, torch.nn.Linear)
    network.get_submodule("model.norm").register_forward_hook(
        lambda _module, _inputs, output: output + layer.weight[0, 0]
    )
    with pytest.raises(UnsupportedModelError, match="LlamaForCausalLM needs the plain values of a packed matrix"):
        model.pack_matrices(Multiplier(kernels("auto"), threads=1, weights="bfloat16"))


@pytest.fixture
def config(tmp_path: Path, kernels: KernelsFor) -> EngineConfig:
    network_of("cohere2").save_pretrained(tmp_path / "model")
    cache_dir = kernels("auto").build.path.parent.parent
    return EngineConfig(
        model=ModelConfig(path=tmp_path / "model", name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        device=DeviceConfig(cache_dir=cache_dir),
    )


def test_worker_tells_the_arithmetic_of_matrices_apart(config: EngineConfig) -> None:
    names = set()
    for quantization, kernels in (("none", "auto"), ("int8", "auto"), ("int4", "auto"), ("none", "torch")):
        changed = config.with_fields(quantization=quantization, cpu_kernels=kernels)
        driver = WorkerDriver(config.model.path, config=changed)
        names.add(driver.worker.numerics_id())
        assert ("native" in driver.worker.numerics_id()) == (kernels == "auto")
        assert len(driver.generate(range(20, 60), 4)) == 4
        driver.executor.close()
    assert len(names) == 4


@pytest.mark.parametrize("quantization", ["none", "int8"])
def test_packed_model_maps_no_file_of_its_folder(config: EngineConfig, quantization: str) -> None:
    worker = Worker(config.with_fields(quantization=quantization))
    worker.load()
    assert str(config.model.path) not in Path("/proc/self/maps").read_text()
    worker.close()


@pytest.mark.parametrize(
    ("dtype", "cpu_kernels", "complaint"),
    [
        ("float32", "auto", "computes in bfloat16, not float32"),
        ("bfloat16", "torch", "the torch model was chosen"),
    ],
)
def test_impossible_quantization_is_refused_before_loading(
    config: EngineConfig, dtype: str, cpu_kernels: str, complaint: str
) -> None:
    for file in config.model.path.glob("*.safetensors"):
        file.unlink()
    worker = Worker(config.with_fields(quantization="int8", dtype=dtype, cpu_kernels=cpu_kernels))
    with pytest.raises(EngineError, match=f"--quantization int8 is not possible here: .*{complaint}"):
        worker.load()
