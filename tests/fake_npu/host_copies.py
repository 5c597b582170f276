"""Copies between a device and the host in the code of a step, which a CPU makes without a trace."""

from collections.abc import Callable, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

READS = frozenset(("cpu", "numpy", "tolist", "item", "nonzero", "__bool__", "__int__", "__float__", "__index__"))
COPIES = READS | {"to"}


class HostCopies(TorchFunctionMode):
    """Context that records each copy of a tensor to the host or from it.

    elements: number of elements of each copy. A copy that is also converted counts twice.
    reads: number of elements of each copy to the host, which waits for the device.
    """

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[int] = []
        self.reads: list[int] = []

    def __torch_function__(
        self, func: Callable[..., Any], _types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in COPIES:
            self.elements.append(args[0].numel())
        if name in READS:
            self.reads.append(args[0].numel())
        return func(*args, **(kwargs or {}))
