"""Linear layer whose rows may come from several tensors of a checkpoint."""

from collections.abc import Sequence

import torch
from torch.nn import functional


def can_prepack(dtype: torch.dtype) -> bool:
    """Return whether `prepack` is supported: bfloat16, with oneDNN kernels for this CPU. float32 would gain nothing."""
    if dtype is not torch.bfloat16 or not torch.backends.mkldnn.is_available():
        return False
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


class Linear:
    """The map y = x W^T + b with W [sum(rows), columns]. Merged projections (q, k, v or gate, up) share one layer.

    The tensors are allocated here and filled through `slots`. `prepack` frees the plain W.
    """

    def __init__(
        self, columns: int, rows: Sequence[int], *, bias: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._rows = list(rows)
        self.weight = torch.empty(sum(rows), columns, dtype=dtype, device=device)
        self.bias = torch.empty(sum(rows), dtype=dtype, device=device) if bias else None
        self._packed: torch.Tensor | None = None

    @property
    def sizes(self) -> Sequence[int]:
        """Numbers of rows of the merged projections."""
        return self._rows

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [T, columns] to [T, sum(rows)]."""
        if self._packed is None:
            return functional.linear(x, self.weight, self.bias)
        y: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return y

    def prepack(self) -> None:
        """Reorder W for oneDNN's kernels, once instead of at every call, and free the plain W.

        Call only if `can_prepack` returns True. The slots cannot be filled afterwards.
        """
        self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
        self.weight = self.weight.new_empty(0)

    def slots(self, names: Sequence[str]) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name: `{name}.weight` and any `{name}.bias` per entry of `rows`."""
        slots = {f"{name}.weight": part for name, part in zip(names, torch.split(self.weight, self._rows), strict=True)}
        if self.bias is not None:
            slots |= {
                f"{name}.bias": part for name, part in zip(names, torch.split(self.bias, self._rows), strict=True)
            }
        return slots
