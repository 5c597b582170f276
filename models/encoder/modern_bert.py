"""ModernBERT: rotary positions, a gated MLP, norms before each part of a layer, and layers with a window."""

from collections.abc import Sequence

import torch
from torch.nn import functional

from models.encoder.config import EncoderConfig
from models.encoder.parts import LayerNorm, Linear, attend, positions_in
from models.layers.rope import RotaryTable


class ModernBertLayer:
    """One layer: x + attention(norm(x)), then x + mlp(norm(x)). The first layer has no norm before its attention."""

    def __init__(
        self, config: EncoderConfig, index: int, rope: RotaryTable, dtype: torch.dtype, device: torch.device
    ) -> None:
        hidden, inner = config.hidden_size, config.intermediate_size
        self._shape = (-1, 3, config.num_heads, config.head_dim)
        self._window, self.rope = config.windows[index], rope
        attention, mlp = config.attention_bias, config.mlp_bias
        self._qkv = Linear(hidden, 3 * hidden, bias=attention, dtype=dtype, device=device)
        self._out = Linear(hidden, hidden, bias=attention, dtype=dtype, device=device)
        self._up = Linear(hidden, 2 * inner, bias=mlp, dtype=dtype, device=device)
        self._down = Linear(inner, hidden, bias=mlp, dtype=dtype, device=device)
        self._before = LayerNorm(hidden, config.eps, bias=config.norm_bias, device=device) if index else None
        self._norm = LayerNorm(hidden, config.eps, bias=config.norm_bias, device=device)

    def __call__(
        self, x: torch.Tensor, rows: tuple[torch.Tensor, torch.Tensor], lengths: Sequence[int]
    ) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]. rows: those of the positions in the rotary table."""
        normed = x if self._before is None else self._before(x)
        q, k, v = self._qkv(normed).view(self._shape).unbind(1)
        attended = attend(self.rope.rotate(q, rows), self.rope.rotate(k, rows), v, lengths, self._window)
        x = x + self._out(attended)
        value, gate = self._up(self._norm(x)).chunk(2, dim=-1)
        return x + self._down(functional.gelu(value.contiguous()) * gate)

    def linears(self) -> list[Linear]:
        """Return the linear layers."""
        return [self._qkv, self._out, self._up, self._down]

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        slots = self._qkv.slots(f"{prefix}.attn.Wqkv") | self._out.slots(f"{prefix}.attn.Wo")
        slots |= self._up.slots(f"{prefix}.mlp.Wi") | self._down.slots(f"{prefix}.mlp.Wo")
        if self._before is not None:
            slots |= self._before.slots(f"{prefix}.attn_norm")
        return slots | self._norm.slots(f"{prefix}.mlp_norm")


class ModernBertNetwork:
    """The layers between the embeddings and the final hidden states, and the head of one label above them."""

    def __init__(self, config: EncoderConfig, dtype: torch.dtype, device: torch.device) -> None:
        """Allocate the tensors, which hold garbage until `slots` are filled."""
        hidden = config.hidden_size
        self._config = config
        self._words = torch.empty(config.vocab_size, hidden, dtype=dtype, device=device)
        self._first, self._last, self._head_norm = (
            LayerNorm(hidden, config.eps, bias=config.norm_bias, device=device) for _ in range(3)
        )
        ropes = {
            theta: RotaryTable(config.head_dim, config.max_position_embeddings, theta, None, device)
            for theta in set(config.thetas)
        }
        self._layers = [
            ModernBertLayer(config, index, ropes[theta], dtype, device) for index, theta in enumerate(config.thetas)
        ]
        self._ropes = tuple(ropes.values())
        self._dense = Linear(hidden, hidden, bias=config.head_bias, dtype=torch.float32, device=device)
        self._label = Linear(hidden, 1, bias=True, dtype=torch.float32, device=device)

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """See `models.interface.encoder.Encoder`. Both texts of a pair are of one kind."""
        del kinds
        x = self._first(self._words[ids].float())
        positions = positions_in(lengths, x.device)
        rows = {rope: rope.rows(positions) for rope in self._ropes}
        for layer in self._layers:
            x = layer(x, rows[layer.rope], lengths)
        return self._last(x)

    def label(self, hidden: torch.Tensor) -> torch.Tensor:
        """See `models.interface.encoder.Encoder`."""
        pooled = hidden.mean(0, keepdim=True) if self._config.labels_mean else hidden[:1]
        return self._label(self._head_norm(functional.gelu(self._dense(pooled))))[0]

    def linears(self) -> list[Linear]:
        """Return the linear layers below the head."""
        return [linear for layer in self._layers for linear in layer.linears()]

    def slots(self) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name, without the prefix of the network."""
        slots = {"embeddings.tok_embeddings.weight": self._words}
        slots |= self._first.slots("embeddings.norm") | self._last.slots("final_norm")
        for index, layer in enumerate(self._layers):
            slots |= layer.slots(f"layers.{index}")
        if not self._config.has_label:
            return slots
        head = self._dense.slots("head.dense") | self._head_norm.slots("head.norm")
        return slots | head | self._label.slots("classifier")
