"""Root mean square norm (Zhang and Sennrich, 2019)."""

import torch


class RMSNorm:
    """x / rms(x), computed in float32 and rounded to x's dtype, then times the weight, as Llama does it."""

    def __init__(self, size: int, eps: float, *, dtype: torch.dtype, device: torch.device) -> None:
        self._eps = eps
        self.weight = torch.empty(size, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the norm of `x` [T, size] in the same shape and dtype. `x` is not changed."""
        wide = x.float()
        scale = wide.square().mean(-1, keepdim=True).add_(self._eps).rsqrt_()
        return (wide * scale).to(x.dtype).mul_(self.weight)

    def add(self, x: torch.Tensor, change: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (norm(x + change), x + change), both [T, size]; x is updated in place."""
        x += change
        return self(x), x


class WideRMSNorm(RMSNorm):
    """x / rms(x) times the weight, computed in float32 and rounded once, as Gemma does it. The weight is float32."""

    def __init__(self, size: int, eps: float, *, dtype: torch.dtype, device: torch.device) -> None:  # noqa: ARG002
        super().__init__(size, eps, dtype=torch.float32, device=device)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the norm of `x` [T, size] in the same shape and dtype. `x` is not changed."""
        wide = x.float()
        scale = wide.square().mean(-1, keepdim=True).add_(self._eps).rsqrt_()
        return (wide * scale).mul_(self.weight).to(x.dtype)
