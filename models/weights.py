"""Loading of a model's tensors from safetensors files, one tensor at a time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from models.errors import WeightsError


def _whole(_name: str, tensor: torch.Tensor) -> torch.Tensor:
    return tensor


def _same(name: str) -> tuple[str, ...]:
    return (name,)


def load_weights(
    files: Sequence[Path],
    slots: Mapping[str, torch.Tensor],
    ignores: Callable[[str], bool],
    part: Callable[[str, torch.Tensor], torch.Tensor] = _whole,
    slots_of: Callable[[str], tuple[str, ...]] = _same,
) -> None:
    """Copy every tensor of `files` to its slots, converted to their dtype and device.

    Memory use beyond the slots stays at one tensor.

    ignores: returns True for names of unknown tensors to skip.
    part: selects the part of a tensor to copy, by the name of the slot.
    slots_of: names of the slots that a tensor fills, by its name in the file.

    Raise WeightsError with the names of tensors that are unknown, missing, duplicate, misshaped or not floating point,
    or with the name of a truncated file. The slots then hold garbage.
    """
    missing, unknown = set(slots), list[str]()
    for file in files:
        try:
            with safe_open(file, framework="pt", device="cpu") as source:
                for name in source.keys():  # noqa: SIM118 - safe_open is not a mapping
                    targets = slots_of(name)
                    if missing.issuperset(targets):
                        missing.difference_update(targets)
                        tensor = source.get_tensor(name)
                        for target in targets:
                            _fill(slots[target], part(target, tensor), name)
                    elif any(target in slots for target in targets):
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


def map_tensor(files: Sequence[Path], name: str, slots_of: Callable[[str], tuple[str, ...]] = _same) -> torch.Tensor:
    """Map the tensor that fills the slot `name` from the one of `files` that contains it.

    slots_of: see `load_weights`.

    Pages are read on first use and stay backed by the file, so they take no memory of the process.

    Raise WeightsError if none of the files contains the tensor.
    """
    for file in files:
        with safe_open(file, framework="pt", device="cpu") as source:
            for stored in source.keys():  # noqa: SIM118 - safe_open is not a mapping
                if slots_of(stored) == (name,):
                    tensor: torch.Tensor = source.get_tensor(stored)
                    return tensor
    raise WeightsError(f"the tensor {name} is in none of the files in {files[0].parent}")


def _fill(slot: torch.Tensor, value: torch.Tensor, name: str) -> None:
    if value.shape != slot.shape:
        raise WeightsError(f"the tensor {name} has shape {list(value.shape)}, but the model needs {list(slot.shape)}")
    if not value.dtype.is_floating_point or value.dtype.itemsize < 2:
        raise WeightsError(f"the tensor {name} is {value.dtype}; quantized weights are not supported")
    slot.copy_(value)


def _some(names: Sequence[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
