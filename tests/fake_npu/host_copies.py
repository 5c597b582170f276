"""Copies between a device and the host in the code of a step, which a CPU makes without a trace."""

from collections.abc import Callable, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

COPIES = frozenset(("cpu", "numpy", "tolist", "item", "to"))


class HostCopies(TorchFunctionMode):
    """Context that records each copy of a tensor to the host or from it.

    elements: number of elements of each copy. A copy that is also converted counts twice.
    """

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[int] = []

    def __torch_function__(
        self, func: Callable[..., Any], _types: Sequence[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        if getattr(func, "__name__", "") in COPIES:
            self.elements.append(args[0].numel())
        return func(*args, **(kwargs or {}))
