"""A linear map whose rows may come from several tensors of a checkpoint."""

from collections.abc import Sequence

import torch
from torch.nn import functional


def can_prepack(dtype: torch.dtype) -> bool:
    """Whether this torch has oneDNN kernels for `dtype` on this CPU; float32 would gain nothing."""
    if dtype is not torch.bfloat16 or not torch.backends.mkldnn.is_available():
        return False
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


class Linear:
    """y = x W^T + b with W [sum(rows), columns]; merged projections (q, k, v or gate, up) are one such map.

    The tensors are allocated here and filled through `slots`. After `prepack` there is no plain W any more.
    """

    def __init__(
        self, columns: int, rows: Sequence[int], *, bias: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._rows = list(rows)
        self.weight = torch.empty(sum(rows), columns, dtype=dtype, device=device)
        self.bias = torch.empty(sum(rows), dtype=dtype, device=device) if bias else None
        self._packed: torch.Tensor | None = None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [T, columns] -> [T, sum(rows)]."""
        if self._packed is None:
            return functional.linear(x, self.weight, self.bias)
        y: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias, "none", [], "")
        return y

    def prepack(self) -> None:
        """Put W into the order that oneDNN's kernels read, once instead of at every call, and let the plain one go.

        Where `can_prepack` says so. Nothing can be filled or loaded any more.
        """
        self._packed = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
        self.weight = self.weight.new_empty(0)

    def slots(self, names: Sequence[str]) -> dict[str, torch.Tensor]:
        """Views to fill, one per name in the order of `rows`: `{name}.weight`, and `{name}.bias` where there is one."""
        slots = {f"{name}.weight": part for name, part in zip(names, torch.split(self.weight, self._rows), strict=True)}
        if self.bias is not None:
            slots |= {
                f"{name}.bias": part for name, part in zip(names, torch.split(self.bias, self._rows), strict=True)
            }
        return slots
