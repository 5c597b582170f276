"""A dense decoder with pre-norm, grouped-query attention and SwiGLU, shared by the families of `models.registry`.

`DecoderConfig` holds what the families differ in.
"""

from functools import partial

import torch
from torch.nn import functional

from models.decoder.config import DecoderConfig
from models.decoder.tensor_parallel import rank_config, rank_tensor
from models.interface import ForwardContext
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.linear import Linear
from models.layers.rms_norm import RMSNorm
from models.layers.rope import RotaryTable
from models.packed_tensor import PackedTensor
from models.parallel import ALONE, RankGroup

EMBEDDING = "model.embed_tokens.weight"

RopeRows = tuple[torch.Tensor, torch.Tensor]


class Attention:
    """Merged q, k, v projection, norms of q and k if there are any, rope, attention, and output projection."""

    def __init__(
        self,
        config: DecoderConfig,
        layer: int,
        layers: LayerKinds,
        ranks: RankGroup = ALONE,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._layer = layer
        self._rotates = config.rotates(layer)
        self._ranks = ranks
        self._heads, self._kv_heads, self._head_dim = config.num_heads, config.num_kv_heads, config.head_dim
        q_size, kv_size = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        sizes = [q_size, kv_size, kv_size]
        self.qkv = Linear(config.hidden_size, sizes, bias=config.qkv_bias, dtype=dtype, device=device)
        self.out = Linear(q_size, [config.hidden_size], bias=config.output_bias, dtype=dtype, device=device)
        self._norms: tuple[RMSNorm, ...] = ()
        if config.qk_norm:
            norm = partial(layers.rms_norm, config.head_dim, config.rms_norm_eps, dtype=dtype, device=device)
            self._norms = (norm(), norm())

    def __call__(self, x: torch.Tensor, rope: RotaryTable, rows: RopeRows, context: ForwardContext) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]."""
        qkv = self.qkv(x).view(x.shape[0], -1, self._head_dim)
        qk, v = torch.split(qkv, [self._heads + self._kv_heads, self._kv_heads], dim=1)
        if self._norms:
            qk = self._normalize(qk)
        # q and k are adjacent, so one rotation covers both.
        turned = rope.rotate(qk, rows) if self._rotates else qk
        q, k = torch.split(turned, [self._heads, self._kv_heads], dim=1)
        return self._ranks.sum(self.out(context.attention(self._layer, q, k, v).flatten(1)))

    def _normalize(self, qk: torch.Tensor) -> torch.Tensor:
        """Normalize each head of q and k, [T, heads + kv_heads, head_dim]."""
        parts = torch.split(qk, [self._heads, self._kv_heads], dim=1)
        flat = [norm(part.reshape(-1, self._head_dim)) for norm, part in zip(self._norms, parts, strict=True)]
        return torch.cat([part.view(len(qk), -1, self._head_dim) for part in flat], dim=1)

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        norms = {f"{prefix}.{name}_norm.weight": norm.weight for name, norm in zip("qk", self._norms, strict=False)}
        projections = self.qkv.slots([f"{prefix}.{name}_proj" for name in "qkv"])
        return projections | norms | self.out.slots([f"{prefix}.o_proj"])


class MLP:
    """The MLP down(silu(gate(x)) * up(x)), with gate and up merged."""

    def __init__(
        self,
        config: DecoderConfig,
        layers: LayerKinds,
        ranks: RankGroup = ALONE,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._ranks = ranks
        hidden, inner = config.hidden_size, config.intermediate_size
        self._swiglu = layers.swiglu
        self.gate_up = Linear(hidden, [inner, inner], bias=False, dtype=dtype, device=device)
        self.down = Linear(inner, [hidden], bias=False, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]."""
        return self._ranks.sum(self.down(self._swiglu(self.gate_up(x))))

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        merged = self.gate_up.slots([f"{prefix}.gate_proj", f"{prefix}.up_proj"])
        return merged | self.down.slots([f"{prefix}.down_proj"])


class DecoderLayer:
    """A decoder layer: x + attention(norm(x)), then x + mlp(norm(x)), with scaled summands in some families."""

    def __init__(
        self,
        config: DecoderConfig,
        layer: int,
        layers: LayerKinds,
        ranks: RankGroup,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self.input_norm = layers.rms_norm(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self.attention = Attention(config, layer, layers, ranks, dtype=dtype, device=device)
        self._scale = config.residual_scale
        self.mlp_norm = layers.rms_norm(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self.mlp = MLP(config, layers, ranks, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor, rope: RotaryTable, rows: RopeRows, context: ForwardContext) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]. x may be updated in place."""
        normed, x = self.mlp_norm.add(x, self._scaled(self.attention(self.input_norm(x), rope, rows, context)))
        x += self._scaled(self.mlp(normed))
        return x

    def _scaled(self, change: torch.Tensor) -> torch.Tensor:
        return change if self._scale == 1 else change * self._scale

    def linears(self) -> tuple[Linear, ...]:
        """Return the linear layers."""
        return (self.attention.qkv, self.attention.out, self.mlp.gate_up, self.mlp.down)

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        norms = {
            f"{prefix}.input_layernorm.weight": self.input_norm.weight,
            f"{prefix}.post_attention_layernorm.weight": self.mlp_norm.weight,
        }
        return norms | self.attention.slots(f"{prefix}.self_attn") | self.mlp.slots(f"{prefix}.mlp")


class DecoderForCausalLM:
    """The whole network. Satisfies `models.interface.CausalLM`. Tensors hold garbage until `slots` are filled.

    packed: matrices in blocks whose slots are not filled yet, by name.
    """

    def __init__(
        self,
        config: DecoderConfig,
        *,
        dtype: torch.dtype,
        device: torch.device,
        layers: LayerKinds = TORCH_LAYERS,
        ranks: RankGroup = ALONE,
    ) -> None:
        """Allocate the tensors of this rank.

        config: shape of the whole model. The attribute of that name is the shape of this rank's part.
        layers: implementations of norms, rotation and activation.
        ranks: the tensor-parallel group. Each rank holds its part of the heads and of every MLP. Only rank 0 holds an
            untied output matrix.

        Raise UnsupportedModelError if the model cannot be split over the group.
        """
        self.packed: dict[str, PackedTensor] = {}
        config = self.config = rank_config(config, ranks.size)
        self._ranks = ranks
        self.attention = config.attention_calls()
        self.vocab_size = config.vocab_size
        self.max_position_embeddings = config.max_position_embeddings
        self.dtype = dtype
        self.kernels = layers.name
        self._layers = [
            DecoderLayer(config, i, layers, ranks, dtype=dtype, device=device) for i in range(config.num_layers)
        ]
        self._norm = layers.rms_norm(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self._tied = config.tie_word_embeddings
        self._has_head = self._tied or ranks.rank == 0
        head_rows = config.vocab_size if self._has_head else 0
        self._head = Linear(config.hidden_size, [head_rows], bias=False, dtype=dtype, device=device)
        self._embedding = (
            self._head.weight
            if self._tied
            else torch.empty(config.vocab_size, config.hidden_size, dtype=dtype, device=device)
        )
        self._rope = layers.rotary(
            config.head_dim, config.max_position_embeddings, config.rope_theta, config.rope_scaling, device
        )

    def forward(self, input_ids: torch.Tensor, positions: torch.Tensor, context: ForwardContext) -> torch.Tensor:
        """Compute the normalized final hidden states [T, hidden] of input_ids and positions, each [T] int64."""
        x = functional.embedding(input_ids, self._embedding).to(self.dtype)
        if self.config.embedding_scale != 1:
            x = x * self.config.embedding_scale
        rows = self._rope.rows(positions)
        for layer in self._layers:
            x = layer(x, self._rope, rows, context)
        return self._norm(x)

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Compute the logits [R, vocab] float32 of hidden states [R, hidden]. Call on rank 0 only."""
        logits = self._head(hidden).float()
        return logits if self.config.logits_scale == 1 else logits * self.config.logits_scale

    def prepack(self, embedding: torch.Tensor) -> None:
        """Reorder all matrices for oneDNN's kernels. See `Linear.prepack`.

        embedding: [vocab, hidden] in any dtype, with the values of the model's own embedding. If the head is tied, rows
            are looked up here from now on. A mapped file keeps the embedding from being in memory twice.
        """
        heads = (self._head,) if self._has_head else ()
        for linear in (*heads, *(linear for layer in self._layers for linear in layer.linears())):
            linear.prepack()
        if self._tied:
            self._embedding = embedding
        self.kernels = "onednn"

    def slots(self) -> dict[str, torch.Tensor]:
        """Return a view per tensor that a checkpoint must contain, by name. `part` of the tensor is copied to it."""
        slots = {EMBEDDING: self._embedding, "model.norm.weight": self._norm.weight}
        if self._has_head and not self._tied:
            slots |= self._head.slots(["lm_head"])
        for index, layer in enumerate(self._layers):
            slots |= layer.slots(f"model.layers.{index}")
        return slots

    def unpack(self) -> None:
        """Fill the slots of the matrices that are still packed."""
        slots = self.slots()
        for name, packed in self.packed.items():
            slots[name].copy_(packed.dequantize())
        self.packed = {}

    def part(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Return this rank's part of the checkpoint's tensor `name`."""
        return rank_tensor(name, tensor, rank=self._ranks.rank, size=self._ranks.size)

    def ignores(self, name: str) -> bool:
        """Return whether to skip the checkpoint's tensor `name`.

        Rotary tables, the copy of a tied head, and a head that another rank holds are skipped.
        """
        needless = self._tied or not self._has_head
        return name.endswith("rotary_emb.inv_freq") or (needless and name == "lm_head.weight")
