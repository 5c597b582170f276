"""The simplest ForwardContext: one whole sequence, nothing cached. The oracle for small checks, not for serving."""

from collections.abc import Sequence

import torch

from models.interface.attention_call import AttentionCall


class DenseContext:
    """Attention over the T rows of one sequence that starts at position 0, in float32."""

    def __init__(self, calls: Sequence[AttentionCall]) -> None:
        self._calls = calls

    def attention(
        self, index: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, sinks: torch.Tensor | None = None
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.ForwardContext`."""
        call = self._calls[index]
        rows = torch.arange(len(q), device=q.device)
        first = torch.tensor([call.first_visible(row) for row in range(len(q))], device=q.device)
        hidden = (rows > rows[:, None]) | (rows < first[:, None])
        keys, values = (x.float().repeat_interleave(call.group, 1).transpose(0, 1) for x in (k, v))
        scores = q.float().transpose(0, 1) @ keys.transpose(1, 2) * call.scale
        if call.softcap:
            scores = torch.tanh(scores / call.softcap) * call.softcap
        scores = scores.masked_fill(hidden, float("-inf"))
        if sinks is not None:
            column = sinks.float()[:, None, None].expand(-1, len(q), 1)
            scores = torch.cat((scores, column), dim=-1)
        weights = torch.softmax(scores, dim=-1)[..., : len(q)]
        return (weights @ values).transpose(0, 1).to(q.dtype)
