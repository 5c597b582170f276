"""Loading of a model's tensors from safetensors files, one tensor at a time."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from models.errors import WeightsError
from models.weights.block_types import tensor_types
from models.weights.packed_tensor import PackedTensor
from models.weights.unreadable import why_unreadable


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
    *,
    keep_packed: bool = False,
) -> dict[str, PackedTensor]:
    """Copy every tensor of `files` to its slots, converted to their dtype and device.

    Memory use beyond the slots stays at one tensor.

    ignores: returns True for names of unknown tensors to skip.
    part: selects the part of a tensor to copy, by the name of the slot.
    slots_of: names of the slots that a tensor fills, by its name in the file.
    keep_packed: whether to return matrices in blocks by name, mapped from their files. Their slots are not filled, so
        no memory is used for them. Otherwise their values are copied like those of all other tensors.

    Raise WeightsError with the names of tensors that are unknown, missing, duplicate, misshaped or not floating point,
    or with the name of an unreadable file. The slots then hold garbage.
    """
    missing, unknown, kept = set(slots), list[str](), dict[str, PackedTensor]()
    for file in files:
        try:
            with safe_open(file, framework="pt", device="cpu") as source:
                types = tensor_types(source.metadata())
                for name in source.keys():  # noqa: SIM118 - safe_open is not a mapping
                    targets = slots_of(name)
                    if missing.issuperset(targets):
                        missing.difference_update(targets)
                        tensor = source.get_tensor(name)
                        packed = PackedTensor(types[name], tensor) if name in types else None
                        if packed is not None and keep_packed:
                            for target in targets:
                                # A part is made of whole rows, and so of whole blocks.
                                kept[target] = PackedTensor(packed.type_, part(target, tensor))
                                _check_shape(slots[target], kept[target].shape, name)
                            continue
                        values = packed.dequantize() if packed else tensor
                        for target in targets:
                            _fill(slots[target], part(target, values), name)
                    elif any(target in slots for target in targets):
                        raise WeightsError(f"the tensor {name} occurs a second time in {file.name}")
                    elif not ignores(name):
                        unknown.append(name)
        except (SafetensorError, OSError) as error:
            raise WeightsError(why_unreadable(file, error)) from error
    problems = [
        f"{label}: {_some(sorted(names))}" for label, names in (("missing", missing), ("unknown", unknown)) if names
    ]
    if problems:
        raise WeightsError(f"the tensors in {files[0].parent} do not fit the model; {'; '.join(problems)}")
    return kept


def map_tensor(files: Sequence[Path], name: str, slots_of: Callable[[str], tuple[str, ...]] = _same) -> torch.Tensor:
    """Map the tensor that fills the slot `name` from the one of `files` that contains it.

    slots_of: see `load_weights`.

    Pages are read on first use and stay backed by the file, so they take no memory of the process. A matrix in blocks
    is not mapped: its values are computed.

    Raise WeightsError if none of the files contains the tensor.
    """
    for file in files:
        with safe_open(file, framework="pt", device="cpu") as source:
            types = tensor_types(source.metadata())
            for stored in source.keys():  # noqa: SIM118 - safe_open is not a mapping
                if slots_of(stored) == (name,):
                    tensor: torch.Tensor = source.get_tensor(stored)
                    packed = PackedTensor(types[stored], tensor) if stored in types else None
                    return packed.dequantize().bfloat16() if packed else tensor
    raise WeightsError(f"the tensor {name} is in none of the files in {files[0].parent}")


def read_rows(files: Sequence[Path], rows: Sequence[int], is_wanted: Callable[[str], bool]) -> list[list[float]]:
    """Read some rows of the first matrix among `files` whose name `is_wanted`. Only these rows are read.

    Raise WeightsError if there is no such matrix, or if it does not have one of the rows.
    """
    for file in files:
        try:
            with safe_open(file, framework="pt", device="cpu") as source:
                types = tensor_types(source.metadata())
                for name in filter(is_wanted, source.keys()):
                    matrix = source.get_slice(name)
                    if (count := matrix.get_shape()[0]) <= max(rows):
                        raise WeightsError(f"the tensor {name} in {file.name} has {count} rows, not row {max(rows)}")
                    return [_row(matrix[row : row + 1], types.get(name)) for row in rows]
        except (SafetensorError, OSError) as error:
            raise WeightsError(why_unreadable(file, error)) from error
    raise WeightsError(f"the matrix of the scores is in none of the files in {files[0].parent}")


def _row(stored: torch.Tensor, type_: str | None) -> list[float]:
    values: list[float] = (PackedTensor(type_, stored).dequantize() if type_ else stored).float().flatten().tolist()
    return values


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
