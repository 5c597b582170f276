"""A dense decoder with grouped-query attention and a gated MLP, shared by the families of `models.registry`.

`DecoderConfig` holds what the families differ in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch.nn import functional

from models.decoder.adapters import AdapterLayer, DecoderAdapter, LayerChanges
from models.decoder.checkpoint import canonical_name, slot_names, slot_tensor
from models.decoder.config import DecoderConfig
from models.decoder.stages import stage_config
from models.decoder.tensor_parallel import rank_config, rank_tensor
from models.decoder.virtual_rows import GivenRows, VirtualRows
from models.interface.causal_lm import AdaptedRows, ForwardContext
from models.interface.parallel import SINGLE_RANK, RankGroup
from models.interface.partition import Stage, whole
from models.layers.activations import geglu
from models.layers.kinds import TORCH_LAYERS, LayerKinds
from models.layers.linear import Linear
from models.layers.rms_norm import RMSNorm, WideRMSNorm
from models.layers.rope import RotaryTable
from models.weights.packed_tensor import PackedTensor

EMBEDDING = "model.embed_tokens.weight"


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions of the tokens of a forward pass, as a layer applies them to q and k.

    rope: rotary table, and its rows for the tokens; None if the layer has no rotary positions.
    query_factors: factors of rotated queries, [T, 1, 1]; None if queries are not scaled.
    """

    rope: tuple[RotaryTable, tuple[torch.Tensor, torch.Tensor]] | None
    query_factors: torch.Tensor | None


class Attention:
    """Merged q, k, v projection, norms of q and k if there are any, rope, attention, and output projection."""

    def __init__(
        self,
        config: DecoderConfig,
        layer: int,
        layers: LayerKinds,
        ranks: RankGroup = SINGLE_RANK,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._layer = layer
        self._ranks = ranks
        self._heads, self._kv_heads, self._head_dim = config.num_heads, config.num_kv_heads, config.head_dim
        q_size, kv_size = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        sizes = [q_size, kv_size, kv_size]
        self.qkv = Linear(config.hidden_size, sizes, bias=config.qkv_bias, dtype=dtype, device=device)
        self.out = Linear(q_size, [config.hidden_size], bias=config.output_bias, dtype=dtype, device=device)
        self._norms: tuple[RMSNorm, ...] = ()
        if config.qk_norm:
            norm = partial(norm_kind(config, layers), config.head_dim, config.rms_norm_eps, dtype=dtype, device=device)
            self._norms = (norm(), norm())

    def __call__(
        self, x: torch.Tensor, positions: Positions, context: ForwardContext, changes: LayerChanges | None = None
    ) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]."""
        qkv = self.qkv(x)
        if changes is not None:
            changes.add(x, ("q_proj", "k_proj", "v_proj"), self.qkv.sizes, qkv)
        qk, v = torch.split(
            qkv.view(x.shape[0], -1, self._head_dim), [self._heads + self._kv_heads, self._kv_heads], dim=1
        )
        if self._norms:
            qk = self._normalize(qk)
        # q and k are adjacent, so one rotation covers both.
        turned = qk if positions.rope is None else positions.rope[0].rotate(qk, positions.rope[1])
        q, k = torch.split(turned, [self._heads, self._kv_heads], dim=1)
        if positions.query_factors is not None:
            q = q * positions.query_factors
        if changes is not None:
            k, v = changes.replace_kv(k, v)
        attended = context.attention(self._layer, q, k, v).flatten(1)
        out = self.out(attended)
        if changes is not None:
            changes.add(attended, ("o_proj",), self.out.sizes, out)
        return self._ranks.sum(out)

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
    """The MLP down(activation(gate(x)) * up(x)), with gate and up merged."""

    def __init__(
        self,
        config: DecoderConfig,
        layers: LayerKinds,
        ranks: RankGroup = SINGLE_RANK,
        *,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        self._ranks = ranks
        hidden, inner = config.hidden_size, config.intermediate_size
        self._gated = layers.swiglu if config.activation == "silu" else geglu
        self.gate_up = Linear(hidden, [inner, inner], bias=False, dtype=dtype, device=device)
        self.down = Linear(inner, [hidden], bias=False, dtype=dtype, device=device)

    def __call__(self, x: torch.Tensor, changes: LayerChanges | None = None) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]."""
        gate_up = self.gate_up(x)
        if changes is not None:
            changes.add(x, ("gate_proj", "up_proj"), self.gate_up.sizes, gate_up)
        gated = self._gated(gate_up)
        down = self.down(gated)
        if changes is not None:
            changes.add(gated, ("down_proj",), self.down.sizes, down)
        return self._ranks.sum(down)

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        merged = self.gate_up.slots([f"{prefix}.gate_proj", f"{prefix}.up_proj"])
        return merged | self.down.slots([f"{prefix}.down_proj"])


class DecoderLayer:
    """A decoder layer: x + attention(norm(x)), then x + mlp(norm(x)).

    The summands are normalized or scaled in some families.
    """

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
        norm = partial(norm_kind(config, layers), config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self.input_norm, self.mlp_norm = norm(), norm()
        self._changes = (norm(), norm()) if config.norms_changes else None
        self.attention = Attention(config, layer, layers, ranks, dtype=dtype, device=device)
        self._scale = config.residual_scale
        self.mlp = MLP(config, layers, ranks, dtype=dtype, device=device)

    def __call__(
        self, x: torch.Tensor, positions: Positions, context: ForwardContext, changes: LayerChanges | None = None
    ) -> torch.Tensor:
        """Map x [T, hidden] to [T, hidden]. x may be updated in place.

        changes: those of adapters; None if no row has one.
        """
        change = self.attention(self.input_norm(x), positions, context, changes)
        if self._changes is not None:
            change = self._changes[0](change)
        normed, x = self.mlp_norm.add(x, self._scaled(change))
        change = self.mlp(normed, changes)
        if self._changes is not None:
            change = self._changes[1](change)
        x += self._scaled(change)
        return x

    def _scaled(self, change: torch.Tensor) -> torch.Tensor:
        return change if self._scale == 1 else change * self._scale

    def linears(self) -> tuple[Linear, ...]:
        """Return the linear layers."""
        return (self.attention.qkv, self.attention.out, self.mlp.gate_up, self.mlp.down)

    def slots(self, prefix: str) -> dict[str, torch.Tensor]:
        """Return views to fill, by checkpoint name."""
        norms = {f"{prefix}.input_layernorm.weight": self.input_norm.weight}
        if self._changes is None:
            norms[f"{prefix}.post_attention_layernorm.weight"] = self.mlp_norm.weight
        else:
            norms[f"{prefix}.post_attention_layernorm.weight"] = self._changes[0].weight
            norms[f"{prefix}.pre_feedforward_layernorm.weight"] = self.mlp_norm.weight
            norms[f"{prefix}.post_feedforward_layernorm.weight"] = self._changes[1].weight
        return norms | self.attention.slots(f"{prefix}.self_attn") | self.mlp.slots(f"{prefix}.mlp")


class DecoderForCausalLM:
    """The network, or one stage of it. Satisfies `models.interface.causal_lm.CausalLM`.

    Tensors hold garbage until `slots` are filled.

    stage: the layers of this network, by their indices in the whole one.
    packed: matrices in blocks whose slots are not filled yet, by name.
    """

    def __init__(
        self,
        config: DecoderConfig,
        *,
        dtype: torch.dtype,
        device: torch.device,
        layers: LayerKinds = TORCH_LAYERS,
        ranks: RankGroup = SINGLE_RANK,
        stage: Stage | None = None,
    ) -> None:
        """Allocate the tensors of this rank.

        config: shape of the whole model. The attribute of that name is the shape of this rank's part.
        layers: implementations of norms, rotation and activation.
        ranks: the tensor-parallel group. Each rank holds its part of the heads and of every MLP. Only rank 0 holds an
            untied output matrix.
        stage: layers to hold; None for all. The first stage holds the embedding, the last one holds the final norm and
            the output matrix. A tied embedding is on both.

        Raise UnsupportedModelError if the model cannot be split over the group.
        """
        self._whole = config
        self.packed: dict[str, PackedTensor] = {}
        self._adapters: dict[str, Sequence[AdapterLayer]] = {}
        self._virtual: dict[str, VirtualRows] = {}
        self.stage = stage or whole(config.num_layers)
        config = self.config = stage_config(rank_config(config, ranks.size), self.stage)
        self._ranks = ranks
        self.attention = config.attention_calls()
        self.vocab_size = config.vocab_size
        self.max_position_embeddings = config.max_position_embeddings
        self.dtype = dtype
        self.kernels = _with_choice(layers.name, config)
        self._layers = [
            DecoderLayer(config, i, layers, ranks, dtype=dtype, device=device) for i in range(config.num_layers)
        ]
        self._norm = norm_kind(config, layers)(config.hidden_size, config.rms_norm_eps, dtype=dtype, device=device)
        self._tied = config.tie_word_embeddings and self.stage.is_last
        self._has_head = self.stage.is_last and (self._tied or ranks.rank == 0)
        head_rows = config.vocab_size if self._has_head else 0
        self._head = Linear(config.hidden_size, [head_rows], bias=False, dtype=dtype, device=device)
        embedding_rows = config.vocab_size if self.stage.is_first else 0
        self._embedding = (
            self._head.weight
            if self._tied
            else torch.empty(embedding_rows, config.hidden_size, dtype=dtype, device=device)
        )
        self._plan = [layer.rope for layer in config.layers]
        self._ropes = [
            layers.rotary(
                config.head_dim, config.max_position_embeddings, rope.theta, rope.scaling, device, rope.rotary_dim
            )
            for rope in config.ropes
        ]
        scaling = config.query_scaling
        self._query_factors = (
            None if scaling is None else scaling.factors(config.max_position_embeddings).to(device, dtype)
        )
        self._embedding_factor = config.embedding_factor(dtype)

    @property
    def hidden_size(self) -> int:
        """Width of the hidden states."""
        return self.config.hidden_size

    def add_adapter(self, adapter: DecoderAdapter | VirtualRows) -> None:
        """Put an adapter on the model's device, for `forward`. The layers are those of this network."""
        device = self._head.weight.device
        if isinstance(adapter, VirtualRows):
            self._virtual[adapter.about.digest] = adapter.to(device)
            return
        self._adapters[adapter.about.digest] = [
            {name: change.to(device) for name, change in layer.items()} for layer in adapter.layers
        ]

    def drop_adapter(self, digest: str) -> None:
        """Free an adapter, which no step in flight may use. digest: that of its content."""
        self._adapters.pop(digest, None)
        self._virtual.pop(digest, None)

    def forward(
        self,
        inputs: torch.Tensor,
        positions: torch.Tensor,
        context: ForwardContext,
        adapted: Sequence[AdaptedRows] = (),
    ) -> torch.Tensor:
        """See `models.interface.causal_lm.Adaptable`."""
        x = self._embed(inputs) if self.stage.is_first else inputs
        given = [
            GivenRows(self._virtual[each.adapter], each, positions) for each in adapted if each.adapter in self._virtual
        ]
        for rows in given if self.stage.is_first else ():
            rows.embed(x)
        factors = None if self._query_factors is None else self._query_factors[positions, None, None]
        unrotated = Positions(None, factors)
        rotated = [Positions((rope, rope.rows(positions)), factors) for rope in self._ropes]
        for index, (layer, rope) in enumerate(zip(self._layers, self._plan, strict=True)):
            parts = [
                (self._adapters[each.adapter][index], each.rows) for each in adapted if each.adapter in self._adapters
            ]
            changes = LayerChanges(index, parts, given) if parts or given else None
            x = layer(x, unrotated if rope is None else rotated[rope], context, changes)
        return self._norm(x) if self.stage.is_last else x

    def _embed(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = functional.embedding(input_ids, self._embedding).to(self.dtype)
        return x if self._embedding_factor == 1 else x * self._embedding_factor

    def compute_logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Compute the logits [R, vocab] float32 of hidden states [R, hidden]. Call on rank 0 of the last stage only."""
        logits, cap = self._head(hidden).float(), self.config.logits_softcap
        if self.config.logits_scale != 1:
            logits = logits * self.config.logits_scale
        return cap * torch.tanh(logits / cap) if cap else logits

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
        self.kernels = _with_choice("onednn", self.config)

    def slots(self) -> dict[str, torch.Tensor]:
        """Return a view per tensor that a checkpoint must contain, by name. `part` of the tensor is copied to it."""
        slots = {EMBEDDING: self._embedding} if self.stage.is_first or self._tied else {}
        if self.stage.is_last:
            slots["model.norm.weight"] = self._norm.weight
        if self._has_head and not self._tied:
            slots |= self._head.slots(["lm_head"])
        for index, layer in zip(self.stage.layers, self._layers, strict=True):
            slots |= layer.slots(f"model.layers.{index}")
        return slots

    def unpack(self) -> None:
        """Fill the slots of the matrices that are still packed."""
        slots = self.slots()
        for name, packed in self.packed.items():
            slots[name].copy_(packed.dequantize())
        self.packed = {}

    def slots_of(self, name: str) -> tuple[str, ...]:
        """Return the names of the slots that the checkpoint's tensor `name` fills."""
        return slot_names(name, self._whole)

    def part(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Return this rank's part, for the slot `name`, of a tensor of the checkpoint."""
        whole = slot_tensor(name, tensor, self._whole)
        return rank_tensor(name, whole, rank=self._ranks.rank, size=self._ranks.size)

    def ignores(self, name: str) -> bool:
        """Return whether to skip the checkpoint's tensor `name`.

        These are rotary tables, the copy of a tied head, tensors that another rank or stage holds, and other parts of
        the model.
        """
        if name.endswith("rotary_emb.inv_freq") or name.startswith(self._whole.other_parts):
            return True
        match canonical_name(name).split("."):
            case ["lm_head", "weight"]:
                return self._tied or not self._has_head
            case ["model", "embed_tokens", "weight"]:
                return not self.stage.is_first
            case ["model", "norm", "weight"]:
                return not self.stage.is_last
            case ["model", "layers", index, *_] if index.isdecimal():
                return int(index) in range(self._whole.num_layers) and int(index) not in self.stage.layers
        return False


def norm_kind(config: DecoderConfig, layers: LayerKinds) -> Callable[..., RMSNorm]:
    """Return the class of the norms. No device has a fused operator for the wide one."""
    return WideRMSNorm if config.adds_one_to_norms else layers.rms_norm


def _with_choice(kernels: str, config: DecoderConfig) -> str:
    """Add what the context window chose to the name of the kernels, because it changes the numbers."""
    return "-".join(filter(None, (kernels, config.rope_choice)))
