"""Description of one attention call of a forward pass: everything that a backend must know apart from the tensors."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionCall:
    """Shape and rules of one attention call. A model makes the same calls in the same order in every forward pass.

    All attention is causal.
    """

    heads: int
    """Query heads, a multiple of `kv_heads`."""
    kv_heads: int
    k_dim: int
    """Width of a head of q and k, in elements."""
    v_dim: int
    """Width of a head of v and of the result, in elements."""
    scale: float
    """Factor of q @ k, before softcap."""
    window: int = 0
    """Number of last positions that a query sees, its own included; 0 means all."""
    chunk: int = 0
    """Positions are divided into chunks of this length, and a query sees only its own chunk; 0 means no chunks."""
    softcap: float = 0.0
    """Scores s become softcap * tanh(s / softcap) before the mask; 0 means unchanged."""
    sinks: bool = False
    """Each head has a learned logit that takes part in the softmax and has no value."""

    @property
    def group(self) -> int:
        """Number of query heads that share a KV head."""
        return self.heads // self.kv_heads

    def first_visible(self, position: int) -> int:
        """Return the first position that the query at `position` sees."""
        first = max(0, position + 1 - self.window) if self.window else 0
        return max(first, position // self.chunk * self.chunk) if self.chunk else first


def plain_calls(layers: int, heads: int, kv_heads: int, head_dim: int) -> tuple[AttentionCall, ...]:
    """Return the calls of a decoder in which every layer attends to all positions with the scale head_dim ** -0.5."""
    return (
        AttentionCall(heads=heads, kv_heads=kv_heads, k_dim=head_dim, v_dim=head_dim, scale=head_dim**-0.5),
    ) * layers
