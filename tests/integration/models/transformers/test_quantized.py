"""Quantized folders: refusals before weights are read, and networks that compute in another type than their KV."""

import json
from pathlib import Path

import pytest
import torch
from transformers.dependency_versions_table import deps

from engine.api.errors import EngineError
from engine.config import CacheConfig, DeviceConfig, EngineConfig, ModelConfig, ParallelConfig
from engine.executor.multiproc import MultiprocExecutor
from engine.worker.worker import Worker
from models.errors import UnsupportedModelError
from models.registry import summarize
from models.transformers.model import TransformersForCausalLM
from models.transformers.quantized import PACKAGES, missing_packages
from models.transformers.self_check import check_network
from tests.tiny_architectures import tiny_config, tiny_network


def described(folder: Path, settings: object, model_type: str = "llama") -> Path:
    """Write the config.json of a quantized network, without any weights."""
    folder.mkdir()
    raw = tiny_config(model_type).to_dict() | {"architectures": ["LlamaForCausalLM"], "quantization_config": settings}
    (folder / "config.json").write_text(json.dumps(raw, default=str))
    return folder


def install_stand_ins(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make empty packages importable under the names that the quantizers need."""
    for name in {name for names in PACKAGES.values() for name in names}:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
        (folder / f"{name}-1.5.dist-info").mkdir()
        (folder / f"{name}-1.5.dist-info" / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n"
        )
    monkeypatch.syspath_prepend(folder)


@pytest.mark.parametrize("method", sorted(PACKAGES))
def test_quantized_folder_is_refused_on_a_cpu(tmp_path: Path, method: str) -> None:
    folder = described(tmp_path / "model", {"quant_method": method})
    worker = Worker(
        EngineConfig(
            model=ModelConfig(path=folder, name="tiny"),
            cache=CacheConfig(tiers=None, secret=b"secret"),
        )
    )
    with pytest.raises(
        UnsupportedModelError, match=f"quant_method '{method}', which is computed on CUDA only, not on cpu"
    ):
        worker.load()


@pytest.mark.parametrize(("method", "package"), [("awq", "gptqmodel"), ("gptq", "optimum"), ("fp8", "'kernels>=")])
def test_missing_packages_of_a_quantizer_are_named(tmp_path: Path, method: str, package: str) -> None:
    folder = described(tmp_path / "model", {"quant_method": method})
    words = f"quant_method '{method}', which needs more packages: run `pip install .*{package}.*`"
    with pytest.raises(UnsupportedModelError, match=words):
        summarize(folder, torch.bfloat16, "cuda")


def test_package_of_a_refused_version_counts_as_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(missing_packages("fp8")) == len(PACKAGES["fp8"])
    install_stand_ins(tmp_path, monkeypatch)
    assert missing_packages("fp8") == [deps["kernels"]]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("settings", [{"quant_method": "mxfp4"}, {"bits": 4}, "four bits"])
def test_other_quantizations_are_refused_everywhere(tmp_path: Path, settings: object, device: str) -> None:
    folder = described(tmp_path / "model", settings)
    with pytest.raises(UnsupportedModelError, match="which is not supported; on CUDA awq, gptq, fp8 are"):
        summarize(folder, torch.bfloat16, device)


def test_accepted_quantizer_is_named_with_its_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = described(tmp_path / "model", {"quant_method": "awq", "bits": 4})
    install_stand_ins(tmp_path / "packages", monkeypatch)
    summary = summarize(folder, torch.bfloat16, "cuda")
    assert summary.code.endswith("-LlamaForCausalLM-awq-accelerate-1.5-gptqmodel-1.5")
    assert "quantization_config" in summary.refusal
    with pytest.raises(UnsupportedModelError, match="not on npu"):
        summarize(folder, torch.bfloat16, "npu")


def test_quantized_folder_cannot_be_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = described(tmp_path / "model", {"quant_method": "gptq"})
    install_stand_ins(tmp_path / "packages", monkeypatch)
    config = EngineConfig(
        model=ModelConfig(path=folder, name="tiny"),
        cache=CacheConfig(tiers=None, secret=b"secret"),
        parallel=ParallelConfig(tensor_parallel_size=2),
        device=DeviceConfig(kind="cuda"),
    )
    with pytest.raises(EngineError, match="a quantized folder cannot be divided"):
        MultiprocExecutor(config, print)


def test_network_in_float16_keeps_its_kv_in_bfloat16() -> None:
    network = tiny_network(tiny_config("gpt_oss"), torch.float16)
    model = TransformersForCausalLM(network, dtype=torch.bfloat16)
    assert model.dtype == torch.bfloat16
    check_network(model, network)
