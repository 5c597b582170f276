"""One dense decoder for Llama and openPangu-Embedded: pre-norm, grouped-query attention, SwiGLU.

The two families differ in one flag: openPangu-Embedded has a bias on q, k, v and o.
"""

import torch
from torch.nn import functional

from models.interface import ForwardContext
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.linear import Linear
from models.layers.rope import RotaryTable
from models.pangu.config import PanguConfig

EMBEDDING = "model.embed_tokens.weight"

RopeRows = tuple[torch.Tensor, torch.Tensor]


class Attention:
    """Merged q, k, v projection, rope, attention by the context, output projection."""

    def __init__(self, config: PanguConfig, layer: int, *, dtype: torch.dtype, device: torch.device) -> None:
        self._layer = layer
        self._heads, self._kv_heads, self._head_dim = config.num_heads, config.num_kv_heads, config.head_dim
        q_size, kv_size = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        sizes = [q_size, kv_size, kv_size]
        self.qkv = Linear(config.hidden_size, sizes, bias=config.bias, dtype=dtype, device=device)
        self.out = Linear(q_size, [config.hidden_size], bias=config.bias, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor, rope: RotaryTable, rows: RopeRows, context: ForwardContext) -> torch.Tensor:
        """x [T, hidden] -> [T, hidden]."""
        qkv = self.qkv(x).view(x.shape[0], -1, self._head_dim)
        turned, v = torch.split(qkv, [self._heads + self._kv_heads, self._kv_heads], dim=1)
        # q and k lie side by side, so one rotation serves both.
        q, k = torch.split(rope.rotate(turned, rows), [self._heads, self._kv_heads], dim=1)
        return self.out(context.attention(self._layer, q, k, v).flatten(1))

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Views to fill, by their names in a checkpoint."""
        return self.qkv.slots([f"{prefix}.{name}_proj" for name in "qkv"]) | self.out.slots([f"{prefix}.o_proj"])


class MLP:
    """down(silu(gate(x)) * up(x)) with gate and up merged."""

    def __init__(self, config: PanguConfig, layers: LayerKinds, *, dtype: torch.dtype, device: torch.device) -> None:
        hidden, inner = config.hidden_size, config.intermediate_size
        self._swiglu = layers.swiglu
        self.gate_up = Linear(hidden, [inner, inner], bias=False, dtype=dtype, device=device)
        self.down = Linear(inner, [hidden], bias=False, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """x [T, hidden] -> [T, hidden]."""
        return self.down(self._swiglu(self.gate_up(x)))

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Views to fill, by their names in a checkpoint."""
        merged = self.gate_up.slots([f"{prefix}.gate_proj", f"{prefix}.up_proj"])
        return merged | self.down.slots([f"{prefix}.down_proj"])


class DecoderLayer:
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(
        self, config: PanguConfig, layer: int, layers: LayerKinds, *, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.input_norm = layers.rms_norm(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self.attention = Attention(config, layer, dtype=dtype, device=device)
        self.mlp_norm = layers.rms_norm(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self.mlp = MLP(config, layers, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor, rope: RotaryTable, rows: RopeRows, context: ForwardContext) -> torch.Tensor:
        """x [T, hidden] -> [T, hidden]; x may be updated in place."""
        normed, x = self.mlp_norm.add(x, self.attention(self.input_norm(x), rope, rows, context))
        x += self.mlp(normed)
        return x

    def linears(self) -> tuple[Linear, ...]:
        """All its matrices."""
        return (self.attention.qkv, self.attention.out, self.mlp.gate_up, self.mlp.down)

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Views to fill, by their names in a checkpoint."""
        norms = {
            f"{prefix}.input_layernorm.weight": self.input_norm.weight,
            f"{prefix}.post_attention_layernorm.weight": self.mlp_norm.weight,
        }
        return norms | self.attention.slots(f"{prefix}.self_attn") | self.mlp.slots(f"{prefix}.mlp")


class PanguForCausalLM:
    """The whole network; satisfies `models.interface.CausalLM`. Its tensors hold garbage until `slots` are filled."""

    def __init__(
        self,
        config: PanguConfig,
        *,
        dtype: torch.dtype,
        device: torch.device,
        layers: LayerKinds = TORCH_LAYERS,
    ) -> None:
        """layers: how norms, rotation and activation are computed."""
        self.num_layers = config.num_layers
        self.num_heads = config.num_heads
        self.num_kv_heads = config.num_kv_heads
        self.head_dim = config.head_dim
        self.vocab_size = config.vocab_size
        self.max_position_embeddings = config.max_position_embeddings
        self.dtype = dtype
        self.kernels = layers.name
        self._layers = [DecoderLayer(config, i, layers, dtype=dtype, device=device) for i in range(config.num_layers)]
        self._norm = layers.rms_norm(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self._head = Linear(config.hidden_size, [config.vocab_size], bias=False, dtype=dtype, device=device)
        self._tied = config.tie_word_embeddings
        self._embedding = self._head.weight if self._tied else torch.empty_like(self._head.weight)
        self._rope = layers.rotary(
            config.head_dim, config.max_position_embeddings, config.rope_theta, config.rope_scaling, device
        )

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, context: ForwardContext) -> torch.Tensor:
        """input_ids, positions [T] int64 -> final hidden states [T, hidden], normed."""
        x = functional.embedding(input_ids, self._embedding).to(self.dtype)
        rows = self._rope.rows(positions)
        for layer in self._layers:
            x = layer(x, self._rope, rows, context)
        return self._norm(x)

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """hidden [R, hidden] -> logits [R, vocab] float32."""
        return self._head(hidden).float()

    def prepack(self, embedding: torch.Tensor) -> None:
        """Put all matrices into the order of oneDNN's kernels; see `Linear.prepack`.

        embedding: [vocab, hidden] in any dtype, the same as the model's: where the head is tied to it, rows are looked
        up there from now on, so that it may be a mapped file and nothing is held twice.
        """
        for linear in (self._head, *(linear for layer in self._layers for linear in layer.linears())):
            linear.prepack()
        if self._tied:
            self._embedding = embedding
        self.kernels = "onednn"

    def slots(self) -> dict[str, torch.Tensor]:
        """Every tensor that a checkpoint must give, by its name there, as a view to copy into."""
        slots = {EMBEDDING: self._embedding, "model.norm.weight": self._norm.weight}
        if not self._tied:
            slots |= self._head.slots(["lm_head"])
        for index, layer in enumerate(self._layers):
            slots |= layer.slots(f"model.layers.{index}")
        return slots

    def ignores(self, name: str) -> bool:
        """Whether a checkpoint may hold this tensor needlessly: rotary tables, and the second copy of a tied head."""
        return name.endswith("rotary_emb.inv_freq") or (self._tied and name == "lm_head.weight")
