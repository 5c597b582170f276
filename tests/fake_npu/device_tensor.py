"""Tensors in the fake device's memory, which operators may use and the host may not access."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tests.fake_npu.faults import HostAccessError

HOST_METHODS = frozenset(
    (
        *("numpy", "tolist", "item", "cpu", "to", "__array__", "__bool__", "__float__", "__int__", "__index__"),
        *("__contains__", "__iter__", "__repr__", "__format__", "is_pinned", "pin_memory"),
    )
)


class HostTensor(torch.Tensor):
    """A tensor in pinned host memory, or a view of one.

    A tensor that is neither a HostTensor nor a DeviceTensor is an intermediate result of the model and counts as device
    memory.
    """


class DeviceTensor(torch.Tensor):
    """A tensor in device memory. Views of a DeviceTensor are DeviceTensors, and results of operators are not."""

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in HOST_METHODS:
            raise HostAccessError(f"the host called {name} on a tensor in device memory")
        tensors = [arg for arg in (*args, *(kwargs or {}).values()) if isinstance(arg, torch.Tensor)]
        if any(isinstance(tensor, HostTensor) for tensor in tensors):
            raise HostAccessError(f"{name} between device memory and host memory, outside a stream")
        with torch._C.DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
            homes = {tensor.untyped_storage().data_ptr() for tensor in tensors if isinstance(tensor, DeviceTensor)}
            return _place(result, homes)


def _place(result: Any, homes: set[int]) -> Any:
    if isinstance(result, tuple | list):
        return type(result)(_place(each, homes) for each in result)
    if not isinstance(result, torch.Tensor):
        return result
    return result.as_subclass(DeviceTensor if result.untyped_storage().data_ptr() in homes else torch.Tensor)


def plain(tensor: torch.Tensor) -> torch.Tensor:
    """Return a plain tensor on the same memory, for code that acts as the device."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.as_subclass(torch.Tensor)
