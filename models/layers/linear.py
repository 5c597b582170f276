"""A linear map whose rows may come from several tensors of a checkpoint."""

from collections.abc import Sequence

import torch
from torch.nn import functional


class Linear:
    """y = x W^T + b with W [sum(rows), columns]; merged projections (q, k, v or gate, up) are one such map.

    The tensors are allocated here and filled through `slots`.
    """

    def __init__(
        self, columns: int, rows: Sequence[int], *, bias: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        self._rows = list(rows)
        self.weight = torch.empty(sum(rows), columns, dtype=dtype, device=device)
        self.bias = torch.empty(sum(rows), dtype=dtype, device=device) if bias else None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [T, columns] -> [T, sum(rows)]."""
        return functional.linear(x, self.weight, self.bias)

    def slots(self, names: Sequence[str]) -> dict[str, torch.Tensor]:
        """Views to fill, one per name in the order of `rows`: `{name}.weight`, and `{name}.bias` where there is one."""
        slots = {f"{name}.weight": part for name, part in zip(names, torch.split(self.weight, self._rows), strict=True)}
        if self.bias is not None:
            slots |= {
                f"{name}.bias": part for name, part in zip(names, torch.split(self.bias, self._rows), strict=True)
            }
        return slots
