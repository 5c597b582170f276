"""Loading of a model's tensors from safetensors files, one tensor at a time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from models.block_types import tensor_types
from models.errors import WeightsError
from models.packed_tensor import PackedTensor


def _whole(_name: str, tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def load_weights(
    files: Sequence[Path],
    slots: Mapping[str, torch.Tensor],
    ignores: Callable[[str], bool],
    part: Callable[[str, torch.Tensor], torch.Tensor] = _whole,
    *,
    keep_packed: bool = False,
) -> dict[str, PackedTensor]:
    """Copy every tensor of `files` to the slot of its name, converted to the slot's dtype and device.

    Memory use beyond the slots stays at one tensor.

    ignores: returns True for names of unknown tensors to skip.
    part: selects the part of a tensor to copy.
    keep_packed: whether to return matrices in blocks by name, mapped from their files. Their slots are not filled, so
        no memory is used for them. Otherwise their values are copied like those of all other tensors.

    Raise WeightsError with the names of tensors that are unknown, missing, duplicate, misshaped or not floating point,
    or with the name of a truncated file. The slots then hold garbage.
    """
    missing, unknown, kept = set(slots), list[str](), dict[str, PackedTensor]()
    for file in files:
        try:
            with safe_open(file, framework="pt", device="cpu") as source:
                types = tensor_types(source.metadata())
                for name in source.keys():  # noqa: SIM118 - safe_open is not a mapping
                    if name in missing:
                        missing.remove(name)
                        tensor = source.get_tensor(name)
                        packed = PackedTensor(types[name], tensor) if name in types else None
                        if packed is None or not keep_packed:
                            _fill(slots[name], part(name, packed.dequantize() if packed else tensor), name)
                        else:
                            _check_shape(slots[name], packed.shape, name)
                            kept[name] = packed
                    elif name in slots:
                        raise WeightsError(f"the tensor {name} occurs a second time in {file.name}")
                    elif not ignores(name):
                        unknown.append(name)
        except (SafetensorError, OSError) as error:
            raise WeightsError(f"{file} cannot be read and may be truncated: {error}") from error
    problems = [
        f"{label}: {_some(sorted(names))}" for label, names in (("missing", missing), ("unknown", unknown)) if names
    ]
    if problems:
        raise WeightsError(f"the tensors in {files[0].parent} do not fit the model; {'; '.join(problems)}")
    return kept


def map_tensor(files: Sequence[Path], name: str) -> torch.Tensor:
    """Map the tensor `name` from the one of `files` that contains it.

    Pages are read on first use and stay backed by the file, so they take no memory of the process. A matrix in blocks
    is not mapped: its values are computed.

    Raise WeightsError if none of the files contains the tensor.
    """
    for file in files:
        with safe_open(file, framework="pt", device="cpu") as source:
            if name in source.keys():  # noqa: SIM118 - safe_open is not a mapping
                tensor: torch.Tensor = source.get_tensor(name)
                type_ = tensor_types(source.metadata()).get(name)
                return tensor if type_ is None else PackedTensor(type_, tensor).dequantize().bfloat16()
    raise WeightsError(f"the tensor {name} is in none of the files in {files[0].parent}")


def _fill(slot: torch.Tensor, value: torch.Tensor, name: str) -> None:
    _check_shape(slot, value.shape, name)
    if not value.dtype.is_floating_point or value.dtype.itemsize < 2:
        raise WeightsError(f"the tensor {name} is {value.dtype}; quantized weights are not supported")
    slot.copy_(value)


def _check_shape(slot: torch.Tensor, shape: Sequence[int], name: str) -> None:
    if tuple(shape) != tuple(slot.shape):
        raise WeightsError(f"the tensor {name} has shape {list(shape)}, but the model needs {list(slot.shape)}")


def _some(names: Sequence[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
