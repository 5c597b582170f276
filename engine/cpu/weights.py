"""Packing of a model's weights into the layout of the kernels."""

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from engine.cpu.adapters import PackedAdapter
from engine.cpu.given_rows import PlacedRows
from engine.cpu.levelling import ROWS_AT_ONCE, column_factors
from engine.cpu.library import (
    BLOCK_FORMATS,
    GATES,
    HEAD_FORMATS,
    Kernels,
    LayerWeights,
    Matrix,
    Model,
)
from engine.cpu.pack_file import MappedPack
from engine.cpu.panel_memory import PanelMemory
from models.decoder.adapters import DecoderAdapter
from models.decoder.config import DecoderConfig, LayerPlan
from models.decoder.model import DecoderForCausalLM
from models.decoder.rope import Rope
from models.decoder.virtual_rows import VirtualRows
from models.interface.attention_call import AttentionCall
from models.layers.rope import RotaryTable
from models.weights.packed_tensor import PackedTensor

PANEL = 32
"""Columns per panel: kPanel in kernels/panels.h."""
HEAD_DIMS: Final = (64, 80, 96, 128, 256)
"""Widths of a head for which kernels/engine.h has code."""


def unsupported_reason(config: DecoderConfig) -> str | None:
    """Return None if the kernels can run the model, else the reason in a sentence."""
    if config.head_dim not in HEAD_DIMS:
        return f"the kernels support head_dim {', '.join(map(str, HEAD_DIMS))}, not {config.head_dim}"
    sizes = {
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_attention_heads * head_dim": config.num_heads * config.head_dim,
        "num_key_value_heads * head_dim": config.num_kv_heads * config.head_dim,
    }
    wrong = [f"{name} {size}" for name, size in sizes.items() if size % PANEL]
    return f"{wrong[0]} is not a multiple of {PANEL}" if wrong else None


def stored_calls(config: DecoderConfig) -> tuple[AttentionCall, ...]:
    """Return the attention calls with the width of V in a page: whole panels."""
    columns = math.ceil(config.head_dim / PANEL) * PANEL
    return tuple(replace(call, v_dim=columns) for call in config.attention_calls())


class PackedModel:
    """Weights in the layout of the kernels. `struct` points into memory that this object keeps alive.

    stage: the layers of the model, if other processes have others.
    adapters: addresses of the adapters for the kernels, by the digests of their contents.
    virtual: addresses of the virtual tokens of each prompt adapter, by the digest of its content.

    Satisfies `models.interface.causal_lm.ModelShape`.
    """

    def __init__(
        self,
        kernels: Kernels,
        config: DecoderConfig,
        model: DecoderForCausalLM,
        *,
        threads: int,
        niceness: int = 0,
        weights: str = "bfloat16",
        level: bool = True,
        kept: MappedPack | None = None,
    ) -> None:
        """Pack the weights of `model`, whose dtype must be bfloat16. `model` is unusable afterwards.

        Each weight's memory is freed as soon as it is packed, so memory never holds all of them twice. Matrices that
        `model` has in blocks keep the values of the blocks.

        threads: number of packing threads.
        niceness: of these threads, where the system has one for each thread, unless this process has a higher one.
        weights: format of all other matrices: "bfloat16" to keep the values, "int8" or "int4" for groups of 32 with a
            float16 scale. With int4, the head (and with it a tied embedding) is int8, since its errors reach the logits
            directly.
        level: whether to level the columns that follow a norm before they are quantized. False is for measurements.
        kept: the same weights packed by an earlier start. Then no values of `model` are read, and its tensors may be on
            the device "meta". None to pack them.
        """
        self.attention = stored_calls(config)
        self.vocab_size = config.vocab_size
        self.max_position_embeddings = config.max_position_embeddings
        self.dtype = torch.bfloat16
        self.kernels = kernels
        self.stage = model.stage
        self._config = config
        self._weights = weights
        self._levels = level and weights != "bfloat16"
        self._head_weights = HEAD_FORMATS[weights]
        self._slots = model.slots()
        self._blocks, model.packed = model.packed, {}
        self._block_types = sorted({each.type_ for each in self._blocks.values()})
        self._kept = kept
        self._memory = PanelMemory()
        self._vectors: list[torch.Tensor] = []
        self._checkpoint_vectors: list[torch.Tensor] = []
        self._factors: list[Mapping[str, torch.Tensor]] = []
        self._adapters: dict[str, PackedAdapter] = {}
        self.adapters: dict[str, int] = {}
        self._placed: dict[str, PlacedRows] = {}
        self.virtual: dict[str, Sequence[int]] = {}
        self._ropes = [_rotary_table(config, rope) for rope in config.ropes]
        self._packing: list[Callable[[], None]] = []
        self._layers = (LayerWeights * config.num_layers)(
            *(self._layer(name, plan) for name, plan in zip(self.stage.layers, config.layers, strict=True))
        )
        self.struct = self._model()
        if kept is None:
            self._memory.allocate()
            with ThreadPoolExecutor(threads, initializer=partial(_be_nice, niceness)) as pool:
                for done in [pool.submit(pack) for pack in self._packing]:
                    done.result()
        else:
            assert kept.panels == self._memory.nbytes, "the identity of a pack covers the code that plans the panels"
            self._memory.use(kept.address)
        self._packing.clear()
        self._slots.clear()
        self._blocks.clear()

    def add_adapter(self, adapter: DecoderAdapter | VirtualRows) -> None:
        """Pack an adapter, which the kernels compute from now on. The layers are those of this process."""
        if isinstance(adapter, VirtualRows):
            placed = self._placed[adapter.about.digest] = PlacedRows(adapter)
            self.virtual[adapter.about.digest] = placed.addresses
            return
        packed = PackedAdapter(self.kernels, adapter.layers, self._factors)
        self._adapters[adapter.about.digest] = packed
        self.adapters[adapter.about.digest] = packed.address

    def drop_adapter(self, digest: str) -> None:
        """Free an adapter, which no step in flight may use."""
        for held in (self.adapters, self.virtual, self._adapters, self._placed):
            held.pop(digest, None)

    @property
    def nbytes(self) -> int:
        """Memory of all matrices in bytes."""
        return self._memory.nbytes

    @property
    def mapped_nbytes(self) -> int:
        """Bytes of them in a mapped file, which the system counts as available memory."""
        return 0 if self._kept is None else self._kept.panels

    @property
    def panels(self) -> NDArray[np.uint8]:
        """The memory of all matrices, [nbytes]. Empty if it is mapped from a pack file."""
        panels: NDArray[np.uint8] = self._memory.bytes.numpy()
        return panels

    @property
    def checkpoint_vectors(self) -> tuple[NDArray[np.float32], ...]:
        """All norms, factors of levelled columns and biases, as a pack file holds them."""
        return tuple(vector.numpy() for vector in self._checkpoint_vectors)

    @property
    def hidden_size(self) -> int:
        """Width of the residual stream."""
        return self._config.hidden_size

    @property
    def numerics(self) -> str:
        """Identifier of everything that may change a bit of the KV.

        The digest of the build covers kernels, instructions and pages.
        """
        build = self.kernels.build
        name = "-".join(filter(None, (f"native-{build.instruction_set.name}-{build.digest}", self._config.rope_choice)))
        weights = f"{self._weights}-levelled" if self._levels else self._weights
        return f"{name};{'+'.join([weights, *self._block_types])}"

    def _layer(self, index: int, plan: LayerPlan) -> LayerWeights:
        """Plan the weights of the layer that the whole model has at `index`."""
        prefix, config = f"model.layers.{index}", self._config
        qkv = [f"{prefix}.self_attn.{name}_proj" for name in "qkv"]
        mlp = [f"{prefix}.mlp.{name}_proj" for name in ("gate", "up")]
        out = config.num_heads * config.head_dim
        cos, sin = (None, None) if plan.rope is None else (table.data_ptr() for table in self._ropes[plan.rope])
        attended, before_mlp, after_mlp = _norms(prefix, config)
        before_attention = self._checkpoint_vector(self._slots[f"{prefix}.input_layernorm.weight"])
        before_gate = self._checkpoint_vector(self._slots[before_mlp])
        of_qkv, of_mlp = self._column_factors(), self._column_factors()
        factors = {"q_proj": of_qkv, "k_proj": of_qkv, "v_proj": of_qkv, "gate_proj": of_mlp, "up_proj": of_mlp}
        self._factors.append({name: each for name, each in factors.items() if each is not None})
        return LayerWeights(
            attention_norm=self._address(before_attention),
            qkv=self._matrix(qkv, config.hidden_size, norm=before_attention, factors=of_qkv),
            qkv_bias=self._biases(qkv) if config.qkv_bias else None,
            q_norm=self._vector(f"{prefix}.self_attn.q_norm.weight") if config.qk_norm else None,
            k_norm=self._vector(f"{prefix}.self_attn.k_norm.weight") if config.qk_norm else None,
            cos=cos,
            sin=sin,
            window=plan.window,
            output=self._matrix([f"{prefix}.self_attn.o_proj"], out),
            output_bias=self._biases([f"{prefix}.self_attn.o_proj"]) if config.output_bias else None,
            attended_norm=self._vector(attended) if attended else None,
            mlp_norm=self._address(before_gate),
            gate_up=self._matrix(mlp, config.hidden_size, alternate=True, norm=before_gate, factors=of_mlp),
            down=self._matrix([f"{prefix}.mlp.down_proj"], config.intermediate_size),
            down_norm=self._vector(after_mlp) if after_mlp else None,
        )

    def _model(self) -> Model:
        config = self._config
        tied, stage = config.tie_word_embeddings, self.stage
        embedding = head = Matrix()
        if stage.is_first or (stage.is_last and tied):
            weights = self._head_weights if tied else "bfloat16"
            embedding = head = self._matrix(["model.embed_tokens"], config.hidden_size, weights=weights)
        if stage.is_last and not tied:
            head = self._matrix(["lm_head"], config.hidden_size, weights=self._head_weights)
        return Model(
            layers=config.num_layers,
            hidden=config.hidden_size,
            intermediate=config.intermediate_size,
            heads=config.num_heads,
            kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            vocab=config.vocab_size,
            gate=GATES.index(config.activation),
            norm_epsilon=config.rms_norm_eps,
            attention_scale=config.attention_scale,
            attention_softcap=config.attention_softcap,
            embedding_scale=config.embedding_factor(self.dtype),
            residual_scale=config.residual_scale,
            logits_scale=config.logits_scale,
            logits_softcap=config.logits_softcap,
            query_factors=self._query_factors(),
            layer_weights=self._layers,
            embedding=embedding,
            final_norm=self._vector("model.norm.weight") if stage.is_last else None,
            head=head,
        )

    def _vector(self, name: str) -> int:
        return self._address(self._checkpoint_vector(self._slots[name]))

    def _checkpoint_vector(self, values: torch.Tensor) -> torch.Tensor:
        """Return `values` of the checkpoint in float32, or the vector that the kept pack has in their place."""
        if self._kept is None:
            vector = values.float()
        else:
            # The copy is aligned for vector loads.
            vector = torch.from_numpy(self._kept.vectors[len(self._checkpoint_vectors)]).clone()
        assert vector.shape == values.shape
        self._checkpoint_vectors.append(vector)
        return vector

    def _column_factors(self) -> torch.Tensor | None:
        """Return the vector for the factors of levelled columns, which packing fills; None if none are levelled."""
        return self._checkpoint_vector(torch.ones(self._config.hidden_size)) if self._levels else None

    def _address(self, vector: torch.Tensor) -> int:
        self._vectors.append(vector)
        return vector.data_ptr()

    def _query_factors(self) -> int | None:
        scaling = self._config.query_scaling
        if scaling is None:
            return None
        return self._address(scaling.factors(self._config.max_position_embeddings))

    def _biases(self, names: Sequence[str]) -> int:
        return self._address(self._checkpoint_vector(torch.cat([self._slots[f"{name}.bias"] for name in names])))

    def _matrix(
        self,
        names: Sequence[str],
        depth: int,
        *,
        weights: str | None = None,
        alternate: bool = False,
        norm: torch.Tensor | None = None,
        factors: torch.Tensor | None = None,
    ) -> Matrix:
        """Plan one packed matrix of the rows of the weights `names`.

        The matrix gets its memory when the arena is allocated, and is filled when the planned packing runs.

        weights: format of weights that are not in blocks; None for that of the layers.
        alternate: whether panels of the weights alternate, instead of the weights following one another.
        norm: weight of the norm whose result the matrix multiplies. If columns are levelled, packing changes it, and
            writes what it was divided by to `factors`.
        """
        sources = [self._source(f"{name}.weight", depth, weights or self._weights) for name in names]
        runs = [list(run) for _, run in groupby(sources, key=lambda source: source.format)]
        step = len(sources) if alternate and len(runs) == 1 else 1
        offsets = [self._memory.reserve(sum(source.nbytes for source in run)) for run in runs]
        pieces = [
            (offset, sum(source.panels for source in run), run[0]) for offset, run in zip(offsets, runs, strict=True)
        ]
        if alternate and len(runs) > 1:
            pieces = [
                (offset + panel * source.panel_bytes, 1, source)
                for panel in range(sources[0].panels)
                for offset, _, source in pieces
            ]

        def pack() -> None:
            levels = None if norm is None else self._level(sources, norm)
            if levels is not None and factors is not None:
                factors.copy_(levels)
            for offset, run in zip(offsets, runs, strict=True):
                self._pack(run, depth, self._memory.slice(offset, sum(source.nbytes for source in run)), step, levels)
            # The slots are views of one merged matrix. Resizing its storage frees the memory immediately.
            self._slots[f"{names[0]}.weight"].untyped_storage().resize_(0)

        self._packing.append(pack)
        return self._memory.matrix([(place, panels, source.format) for place, panels, source in pieces])

    def _source(self, name: str, depth: int, weights: str) -> "_Source":
        values = self._blocks.get(name) or self._slots[name]
        format_ = BLOCK_FORMATS[values.type_] if isinstance(values, PackedTensor) else weights
        return _Source(values, format_, self.kernels.panel_bytes(format_, depth))

    def _level(self, sources: Sequence["_Source"], norm: torch.Tensor) -> torch.Tensor | None:
        """Divide `norm` by the factors of the columns, and return these. Return None if columns are not levelled."""
        matrices = [source.values for source in sources if isinstance(source.values, torch.Tensor)]
        if not self._levels or len(matrices) < len(sources):
            return None
        factors = column_factors(matrices)
        norm /= factors
        return factors.to(torch.bfloat16)

    def _pack(
        self, run: Sequence["_Source"], depth: int, packed: torch.Tensor, step: int, factors: torch.Tensor | None
    ) -> None:
        """Fill the memory `packed` with weights of one format.

        step: distance between the panels of a weight.
        factors: those of the columns, or None.
        """
        if any(source.rows % PANEL for source in run):
            packed.zero_()
        first = 0
        for source in run:
            if isinstance(source.values, PackedTensor):
                blocks, type_ = source.values.blocks, source.values.type_
                self.kernels.pack_blocks(blocks, source.rows, depth, packed, type_=type_, first_panel=first, step=step)
            else:
                panel = first
                for rows in source.values.split(ROWS_AT_ONCE):
                    levelled = rows if factors is None else rows * factors
                    self.kernels.pack_rows(
                        levelled, len(rows), depth, packed, weights=source.format, first_panel=panel, step=step
                    )
                    panel += math.ceil(len(rows) / PANEL) * step
            first += source.panels if step == 1 else 1


@dataclass(frozen=True, slots=True)
class _Source:
    """One weight to pack.

    format: format of its panels, each of which takes `panel_bytes`.
    """

    values: torch.Tensor | PackedTensor
    format: str
    panel_bytes: int

    @property
    def rows(self) -> int:
        return self.values.shape[0]

    @property
    def panels(self) -> int:
        return math.ceil(self.rows / PANEL)

    @property
    def nbytes(self) -> int:
        return self.panels * self.panel_bytes


def _norms(prefix: str, config: DecoderConfig) -> tuple[str, str, str]:
    """Return the names of the norms of what attention adds, before the MLP, and of what the MLP adds.

    The first and the last are empty if there are none.
    """
    names = ["", "post_attention_layernorm", ""]
    if config.norms_changes:
        names = ["post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"]
    attended, before_mlp, after_mlp = (f"{prefix}.{name}.weight" if name else "" for name in names)
    return attended, before_mlp, after_mlp


def _rotary_table(config: DecoderConfig, rope: Rope) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin of every position, each float32 [positions, head_dim / 2].

    The model's own table mirrors the halves of a row, with the sign of sin flipped. The kernels need only one half.
    """
    positions, half = config.max_position_embeddings, config.head_dim // 2
    device = torch.device("cpu")
    table = RotaryTable(config.head_dim, positions, rope.theta, rope.scaling, device, rope.rotary_dim)
    cos, sin = table.rows(torch.arange(positions))
    return cos[:, 0, :half].contiguous(), sin[:, 0, half:].contiguous()


def _be_nice(niceness: int) -> None:
    """Lower the priority of this thread alone. Elsewhere than on Linux, the priority is that of the process."""
    if sys.platform == "linux" and niceness > os.getpriority(os.PRIO_PROCESS, 0):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
