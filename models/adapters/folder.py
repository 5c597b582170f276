"""Adapters in a folder: one folder each, with adapter_config.json and adapter_model.safetensors as PEFT writes them."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import safetensors.torch
import torch
from safetensors import SafetensorError

from models.adapters.peft_config import TENSOR_FILE, read_peft_config
from models.errors import ModelNotFoundError, UnsupportedModelError, WeightsError
from models.weights.unreadable import why_unreadable

_PREFIX: Final = "base_model.model."
_TENSOR: Final = re.compile(r"(?P<module>.+)\.lora_(?P<part>[AB])\.weight")
_PROJECTION: Final = re.compile(
    r"(?:.+\.)?layers\.\d+\.(?:self_attn\.(?:[qkvo]|qkv)|mlp\.(?:gate|up|gate_up|down))_proj"
)
_DTYPES: Final = (torch.float32, torch.float16, torch.bfloat16)


@dataclass(frozen=True, slots=True)
class StoredChange:
    """The change of one matrix of the checkpoint: y = W x + factor * b (a x).

    module: name of the projection in the checkpoint, without ".weight".
    a: [rank, inputs]. b: [outputs, rank].
    """

    module: str
    a: torch.Tensor
    b: torch.Tensor
    factor: float


@dataclass(frozen=True, slots=True)
class StoredAdapter:
    """An adapter as its files have it.

    name: name of its folder.
    digest, invocation: as in `Adapter`.
    """

    name: str
    digest: str
    changes: Sequence[StoredChange]
    invocation: tuple[int, ...] = ()


def read_adapter(path: Path) -> StoredAdapter:
    """Read the adapter in the folder `path`.

    Raise ModelNotFoundError for a missing file, UnsupportedModelError for anything but plain LoRA of the projections of
    attention and MLP, WeightsError for tensors that are not pairs of matrices.
    """
    config = read_peft_config(path)
    file = path / TENSOR_FILE
    try:
        tensors = safetensors.torch.load(file.read_bytes())
    except FileNotFoundError:
        raise ModelNotFoundError(f"{path} has no {TENSOR_FILE}; other formats of adapters are not read") from None
    except (OSError, ValueError, SafetensorError) as error:
        raise WeightsError(why_unreadable(file, error)) from error
    pairs = dict[str, dict[str, torch.Tensor]]()
    for name, tensor in tensors.items():
        match = _TENSOR.fullmatch(name.removeprefix(_PREFIX))
        if match is None or not _PROJECTION.fullmatch(match["module"]):
            raise UnsupportedModelError(
                f"{file}: the tensor {name} is not supported: only the projections of attention and MLP can be adapted"
            )
        if tensor.dim() != 2 or tensor.dtype not in _DTYPES:
            raise WeightsError(f"{file}: the tensor {name} is {tensor.dtype} {list(tensor.shape)}, not a matrix")
        pairs.setdefault(match["module"], {})[match["part"]] = tensor
    if not pairs:
        raise WeightsError(f"{file} has no tensors")
    changes = list[StoredChange]()
    for module, pair in sorted(pairs.items()):
        if len(pair) < 2 or len(pair["A"]) != pair["B"].shape[1] or not len(pair["A"]):
            shapes = {part: list(tensor.shape) for part, tensor in pair.items()}
            raise WeightsError(f"{file}: lora_A and lora_B of {module} do not fit each other: {shapes}")
        changes.append(StoredChange(module, pair["A"], pair["B"], config.factor(module, len(pair["A"]))))
    return StoredAdapter(path.name, _digest(changes, config.invocation), changes, config.invocation)


def _digest(changes: Sequence[StoredChange], invocation: tuple[int, ...]) -> str:
    digest = hashlib.sha256(b"ebb-adapter" + json.dumps(invocation).encode())
    for change in changes:
        about = [change.module, change.factor.hex()]
        about += [str(value) for each in (change.a, change.b) for value in (each.dtype, list(each.shape))]
        digest.update(json.dumps(about).encode() + b"\0")
        for tensor in (change.a, change.b):
            digest.update(tensor.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
