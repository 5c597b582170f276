"""Small random adapters in the folder layout of PEFT, generated in milliseconds."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import torch
from safetensors.torch import load_file, save_file

ALL_LINEAR: Final = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
FUSED: Final = ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")
NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


def make_adapter(
    path: Path,
    model: Path,
    *,
    targets: Sequence[str] = ALL_LINEAR,
    layers: Sequence[int] | None = None,
    rank: int = 4,
    alpha: float = 8,
    size: float = 1.0,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    config: Mapping[str, Any] = NOTHING,
) -> Path:
    """Write an adapter of the model in the folder `model` to `path`, and return `path`. Equal arguments, equal bytes.

    layers: indices of the layers to change; None for all.
    size: typical size of a change over that of the product that it changes.
    config: further keys of adapter_config.json.
    """
    path.mkdir(parents=True, exist_ok=True)
    generator, tensors = torch.Generator().manual_seed(seed), dict[str, torch.Tensor]()
    for name, weight in sorted(load_file(next(model.glob("*.safetensors"))).items()):
        parts = name.split(".")
        if "layers" not in parts or parts[-1] != "weight" or parts[-2] not in targets:
            continue
        if layers is not None and int(parts[parts.index("layers") + 1]) not in layers:
            continue
        outputs, inputs = weight.shape
        a = torch.randn(rank, inputs, generator=generator) / inputs**0.5
        b = torch.randn(outputs, rank, generator=generator) * size * rank**0.5 / alpha
        for part, matrix in (("A", a), ("B", b)):
            tensors[f"base_model.model.{name.removesuffix('.weight')}.lora_{part}.weight"] = matrix.to(dtype)
    save_file(tensors, path / "adapter_model.safetensors")
    settings = {"peft_type": "LORA", "r": rank, "lora_alpha": alpha, "bias": "none", "target_modules": list(targets)}
    (path / "adapter_config.json").write_text(json.dumps({**settings, **config}))
    return path


def merged_model(path: Path, model: Path, adapter: Path) -> Path:
    """Write the model in the folder `model` with the changes of `adapter` in its matrices to `path`. Return `path`.

    The factor is that of plain LoRA.
    """
    path.mkdir(parents=True, exist_ok=True)
    for file in model.iterdir():
        if file.suffix != ".safetensors":
            (path / file.name).write_bytes(file.read_bytes())
    tensors = load_file(next(model.glob("*.safetensors")))
    settings, changes = (
        json.loads((adapter / "adapter_config.json").read_text()),
        load_file(adapter / "adapter_model.safetensors"),
    )
    for name in [name for name in changes if ".lora_A." in name]:
        module = name.removeprefix("base_model.model.").removesuffix(".lora_A.weight")
        a, b = changes[name].float(), changes[name.replace(".lora_A.", ".lora_B.")].float()
        tensors[f"{module}.weight"] += settings["lora_alpha"] / len(a) * (b @ a)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path
