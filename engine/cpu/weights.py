"""Packing of a model's weights into the layout of the kernels."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

from engine.cpu.library import WEIGHT_FORMATS, Kernels, LayerWeights, Matrix, Model, Part
from models.decoder.config import DecoderConfig
from models.decoder.model import DecoderForCausalLM
from models.layers.rope import RotaryTable

PANEL = 32
"""Columns per panel: kPanel in kernels/panels.h."""
GROUP = 32
"""Number of weights along the depth that share a scale: kGroup in kernels/group_panels.h."""
ALIGNMENT = 64


def unsupported_reason(config: DecoderConfig) -> str | None:
    """Return None if the kernels can run the model, else the reason in a sentence."""
    if config.head_dim not in (64, 128):
        return f"the kernels support head_dim 64 and 128, not {config.head_dim}"
    if config.window:
        return "the kernels do not compute sliding windows"
    for name, size in (("hidden_size", config.hidden_size), ("intermediate_size", config.intermediate_size)):
        if size % PANEL:
            return f"{name} {size} is not a multiple of {PANEL}"
    return None


class PackedModel:
    """Weights in the layout of the kernels. `struct` points into memory that this object keeps alive.

    Satisfies `models.interface.ModelShape`.
    """

    def __init__(
        self,
        kernels: Kernels,
        config: DecoderConfig,
        model: DecoderForCausalLM,
        *,
        threads: int,
        weights: str = "bfloat16",
    ) -> None:
        """Pack the weights of `model`, whose dtype must be bfloat16. `model` is unusable afterwards.

        Each weight's memory is freed as soon as it is packed, so memory never holds all of them twice.

        threads: number of packing threads.
        weights: "bfloat16" to keep the values, "int8" or "int4" for groups of 32 with a float16 scale. With int4, the
            head (and with it a tied embedding) is int8, since its errors reach the logits directly.
        """
        self.attention = config.attention_calls()
        self.vocab_size = config.vocab_size
        self.max_position_embeddings = config.max_position_embeddings
        self.dtype = torch.bfloat16
        self.kernels = kernels
        self._config = config
        self._weights = weights
        self._head_weights = "int8" if weights == "int4" else weights
        self._slots = model.slots()
        self._arena = _Arena(_packed_bytes(config, weights, self._head_weights))
        self._vectors: list[torch.Tensor] = []
        self._packing: list[Callable[[], None]] = []
        self._layers = (LayerWeights * config.num_layers)(*(self._layer(i) for i in range(config.num_layers)))
        self.struct = self._model()
        with ThreadPoolExecutor(threads) as pool:
            for done in [pool.submit(pack) for pack in self._packing]:
                done.result()
        self._packing.clear()
        self._slots.clear()

    @property
    def numerics(self) -> str:
        """Identifier of everything that may change a bit of the KV.

        The digest of the build covers kernels, instructions and pages.
        """
        return f"native-{self.kernels.build.instruction_set.name}-{self.kernels.build.digest};{self._weights}"

    def _layer(self, index: int) -> LayerWeights:
        prefix, config = f"model.layers.{index}", self._config
        qkv = [f"{prefix}.self_attn.{name}_proj" for name in "qkv"]
        mlp = [f"{prefix}.mlp.{name}_proj" for name in ("gate", "up")]
        inner, out = config.intermediate_size // PANEL, config.num_heads * config.head_dim
        return LayerWeights(
            attention_norm=self._vector(f"{prefix}.input_layernorm.weight"),
            qkv=self._matrix(qkv, config.hidden_size),
            qkv_bias=self._biases(qkv) if config.qkv_bias else None,
            q_norm=self._vector(f"{prefix}.self_attn.q_norm.weight") if config.qk_norm else None,
            k_norm=self._vector(f"{prefix}.self_attn.k_norm.weight") if config.qk_norm else None,
            rotates=config.rotates(index),
            output=self._matrix([f"{prefix}.self_attn.o_proj"], out),
            output_bias=self._biases([f"{prefix}.self_attn.o_proj"]) if config.output_bias else None,
            mlp_norm=self._vector(f"{prefix}.post_attention_layernorm.weight"),
            gate_up=self._matrix(mlp, config.hidden_size, first_panels=(0, 1), step=2, panels=2 * inner),
            down=self._matrix([f"{prefix}.mlp.down_proj"], config.intermediate_size),
        )

    def _model(self) -> Model:
        config = self._config
        cos, sin = _rotary_table(config)
        self._vectors += [cos, sin]
        embedding = head = self._matrix(
            ["model.embed_tokens"],
            config.hidden_size,
            weights=self._head_weights if config.tie_word_embeddings else "bfloat16",
        )
        if not config.tie_word_embeddings:
            head = self._matrix(["lm_head"], config.hidden_size, weights=self._head_weights)
        return Model(
            layers=config.num_layers,
            hidden=config.hidden_size,
            intermediate=config.intermediate_size,
            heads=config.num_heads,
            kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            vocab=config.vocab_size,
            norm_epsilon=config.rms_norm_eps,
            attention_scale=config.attention_scale,
            embedding_scale=config.embedding_scale,
            residual_scale=config.residual_scale,
            logits_scale=config.logits_scale,
            layer_weights=self._layers,
            embedding=embedding,
            final_norm=self._vector("model.norm.weight"),
            head=head,
            cos=cos.data_ptr(),
            sin=sin.data_ptr(),
        )

    def _vector(self, name: str) -> int:
        self._vectors.append(self._slots[name].float())
        return self._vectors[-1].data_ptr()

    def _biases(self, names: Sequence[str]) -> int:
        self._vectors.append(torch.cat([self._slots[f"{name}.bias"] for name in names]).float())
        return self._vectors[-1].data_ptr()

    def _matrix(
        self,
        names: Sequence[str],
        depth: int,
        *,
        weights: str | None = None,
        first_panels: Sequence[int] | None = None,
        step: int = 1,
        panels: int | None = None,
    ) -> Matrix:
        """Plan one packed matrix of the rows of the weights `names`.

        The matrix is filled when the planned packing runs.

        weights: format of the matrix; None for that of the layers.
        first_panels: first panel of each weight; None to stack the weights one after the other.
        step: distance between a weight's panels.
        panels: size of the matrix in panels; None for the sum over the weights.
        """
        parts = [self._slots[f"{name}.weight"] for name in names]
        sizes = [_panels(len(part)) for part in parts]
        starts = [sum(sizes[:i]) for i in range(len(sizes))] if first_panels is None else first_panels
        format_name = weights or self._weights
        end = panels or sum(sizes)
        packed = self._arena.take(_matrix_bytes(end, depth, format_name))

        def pack() -> None:
            if len(parts[-1]) % PANEL:
                packed.zero_()
            for part, start in zip(parts, starts, strict=True):
                self.kernels.pack_rows(
                    part, len(part), depth, packed, weights=format_name, first_panel=start, step=step
                )
            # The parts are views of one merged matrix. Resizing its storage frees the memory immediately.
            parts[0].untyped_storage().resize_(0)

        self._packing.append(pack)
        return Matrix.of(Part(data=packed.data_ptr(), end=end, format=WEIGHT_FORMATS.index(format_name)))


class _Arena:
    """A single allocation for all matrices, mapped and freed as one and never fragmented."""

    def __init__(self, nbytes: int) -> None:
        self._memory = torch.empty(nbytes + ALIGNMENT, dtype=torch.uint8)
        self._used = -self._memory.data_ptr() % ALIGNMENT

    def take(self, nbytes: int) -> torch.Tensor:
        """Allocate `nbytes` uninitialized bytes, aligned for vector loads."""
        start = self._used
        self._used = start + math.ceil(nbytes / ALIGNMENT) * ALIGNMENT
        return self._memory[start : start + nbytes]


def _panels(rows: int) -> int:
    return math.ceil(rows / PANEL)


def _matrix_bytes(panels: int, depth: int, weights: str) -> int:
    """Return the size of a packed matrix in bytes.

    With integers, every group of 32 along the depth of a panel has 32 * 32 weights and 32 scales of 2 bytes.
    """
    if weights == "bfloat16":
        return panels * PANEL * depth * 2
    group = GROUP // 2 if weights == "int4" else GROUP
    return panels * PANEL * depth // GROUP * (group + 2)


def _packed_bytes(config: DecoderConfig, weights: str, head_weights: str) -> int:
    """Return the size of all packed matrices in bytes, including the most that alignment can add."""
    hidden, inner, attention = config.hidden_size, config.intermediate_size, config.num_heads * config.head_dim
    qkv = attention + 2 * config.num_kv_heads * config.head_dim
    layer = [(qkv, hidden), (hidden, attention), (2 * inner, hidden), (hidden, inner)]
    matrices = [(*shape, weights) for shape in layer * config.num_layers]
    matrices.append((config.vocab_size, hidden, head_weights))
    if not config.tie_word_embeddings:
        matrices.append((config.vocab_size, hidden, "bfloat16"))
    return sum(_matrix_bytes(_panels(rows), depth, name) + ALIGNMENT for rows, depth, name in matrices)


def _rotary_table(config: DecoderConfig) -> tuple[torch.Tensor, torch.Tensor]:
    """Return cos and sin of every position, each float32 [positions, head_dim / 2].

    The model's own table mirrors the halves of a row, with the sign of sin flipped. The kernels need only one half.
    """
    positions, half = config.max_position_embeddings, config.head_dim // 2
    table = RotaryTable(config.head_dim, positions, config.rope_theta, config.rope_scaling, torch.device("cpu"))
    cos, sin = table.rows(torch.arange(positions))
    return cos[:, 0, :half].contiguous(), sin[:, 0, half:].contiguous()
