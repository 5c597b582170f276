"""BERT, RoBERTa and XLM-R: a table of positions, and norms behind each part of a layer."""

from collections.abc import Sequence

import torch
from torch.nn import functional

from models.encoder.config import EncoderConfig
from models.encoder.parts import LayerNorm, Linear, attend, positions_in


class BertLayer:
    """One layer: x = norm(x + attention(x)), then x = norm(x + mlp(x))."""

    def __init__(self, config: EncoderConfig, dtype: torch.dtype, device: torch.device) -> None:
        hidden, inner = config.hidden_size, config.intermediate_size
        self._shape = (-1, config.num_heads, config.head_dim)
        self._projections = [Linear(hidden, hidden, bias=True, dtype=dtype, device=device) for _ in range(3)]
        self._out = Linear(hidden, hidden, bias=True, dtype=dtype, device=device)
        self._up = Linear(hidden, inner, bias=True, dtype=dtype, device=device)
        self._down = Linear(inner, hidden, bias=True, dtype=dtype, device=device)
        self._norms = [LayerNorm(hidden, config.eps, bias=True, device=device) for _ in range(2)]

    def __call__(self, x: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]."""
        q, k, v = (linear(x).view(self._shape) for linear in self._projections)
        x = self._norms[0](x + self._out(attend(q, k, v, lengths)))
        return self._norms[1](x + self._down(functional.gelu(self._up(x))))

    def linears(self) -> list[Linear]:
        """Return the linear layers."""
        return [*self._projections, self._out, self._up, self._down]

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        slots: dict[str, torch.Tensor] = {}
        for name, linear in zip(("query", "key", "value"), self._projections, strict=True):
            slots |= linear.slots(f"{prefix}.attention.self.{name}")
        slots |= self._out.slots(f"{prefix}.attention.output.dense")
        slots |= self._norms[0].slots(f"{prefix}.attention.output.LayerNorm")
        slots |= self._up.slots(f"{prefix}.intermediate.dense")
        slots |= self._down.slots(f"{prefix}.output.dense")
        return slots | self._norms[1].slots(f"{prefix}.output.LayerNorm")


class BertNetwork:
    """The layers between the embeddings and the final hidden states, and the head of one label above them."""

    def __init__(self, config: EncoderConfig, dtype: torch.dtype, device: torch.device) -> None:
        """Allocate the tensors, which hold garbage until `slots` are filled."""
        hidden = config.hidden_size
        self._config = config
        self._words, self._positions, self._kinds = (
            torch.empty(rows, hidden, dtype=dtype, device=device)
            for rows in (config.vocab_size, config.first_position + config.max_position_embeddings, config.num_kinds)
        )
        self._norm = LayerNorm(hidden, config.eps, bias=True, device=device)
        self._layers = [BertLayer(config, dtype, device) for _ in range(config.num_layers)]
        self._dense = Linear(hidden, hidden, bias=True, dtype=torch.float32, device=device)
        self._label = Linear(hidden, 1, bias=True, dtype=torch.float32, device=device)

    def forward(self, ids: torch.Tensor, kinds: torch.Tensor, lengths: Sequence[int]) -> torch.Tensor:
        """See `models.interface.encoder.Encoder`."""
        positions = self._config.first_position + positions_in(lengths, ids.device)
        kinds = kinds.clamp(max=self._config.num_kinds - 1)
        x = self._words[ids].float() + self._positions[positions].float() + self._kinds[kinds].float()
        x = self._norm(x)
        for layer in self._layers:
            x = layer(x, lengths)
        return x

    def label(self, hidden: torch.Tensor) -> torch.Tensor:
        """See `models.interface.encoder.Encoder`."""
        return self._label(torch.tanh(self._dense(hidden[:1])))[0]

    def linears(self) -> list[Linear]:
        """Return the linear layers below the head."""
        return [linear for layer in self._layers for linear in layer.linears()]

    def slots(self) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name, without the prefix of the network."""
        slots = {
            "embeddings.word_embeddings.weight": self._words,
            "embeddings.position_embeddings.weight": self._positions,
            "embeddings.token_type_embeddings.weight": self._kinds,
        }
        slots |= self._norm.slots("embeddings.LayerNorm")
        for index, layer in enumerate(self._layers):
            slots |= layer.slots(f"encoder.layer.{index}")
        if not self._config.has_label:
            return slots
        if self._config.family == "roberta":
            return slots | self._dense.slots("classifier.dense") | self._label.slots("classifier.out_proj")
        return slots | self._dense.slots("pooler.dense") | self._label.slots("classifier")
