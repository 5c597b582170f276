"""A fake ACL graph, which captures operators with their arguments, and not the Python code around them."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten

LENGTHS = "actual_seq_lengths_kv"


class FakeGraph:
    """Graph of the fake device.

    A replay calls the captured operators with the same tensors and numbers and writes to the memory of the first
    results. Only the lengths change, and each replay must pass them.
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self.replays = 0

    def capture(self, compute: Callable[[], torch.Tensor]) -> torch.Tensor:
        compute()
        with _Recorder(self._calls):
            result = compute()
        # On a real device, a captured result has no contents before the first replay.
        result.fill_(float("nan"))
        return result

    def replay(self, seq_lens: Sequence[int]) -> None:
        self.replays += 1
        for call in self._calls:
            if LENGTHS in call.kwargs:
                call.kwargs[LENGTHS] = list(seq_lens)
            call.repeat()


class _Call:
    def __init__(self, func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], result: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs
        self._homes = {_home(each) for each in tree_flatten((args, kwargs))[0] if isinstance(each, torch.Tensor)}
        self._results = _tensors(result)

    def repeat(self) -> None:
        again = _tensors(self.func(*self.args, **self.kwargs))
        for first, new in zip(self._results, again, strict=True):
            # Views and arguments that were written in place are up to date.
            if _home(first) not in self._homes:
                first.copy_(new)


class _Recorder(TorchDispatchMode):
    def __init__(self, calls: list[_Call]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._calls.append(_Call(func, args, dict(kwargs or {}), result))
        return result


def _tensors(result: Any) -> list[torch.Tensor]:
    return [each for each in tree_flatten(result)[0] if isinstance(each, torch.Tensor)]


def _home(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
