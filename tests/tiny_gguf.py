"""Small GGUF files in the form that llama.cpp's converter writes: for Llama and its relatives with q and k permuted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

from tests.tiny_models import tiny_tensors
from tests.tiny_sentencepiece import TinyPieces
from tests.tiny_tokenizer import BYTE_VOCAB, CHAT_TEMPLATE, SPECIAL_TOKENS, byte_tokenizer

VOCAB = BYTE_VOCAB + 1
"""Tokens of the byte tokenizer, and "ab" from the only merge."""

SHAPE = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2}

BLOCK_SHAPE: Mapping[str, int] = {"hidden": 256, "intermediate": 512, "heads": 4, "kv_heads": 2}
"""Shape of the models of `write_block_gguf`."""

MIXES: Mapping[str, Mapping[str, str]] = {
    "Q4_K_M": {"": "Q4_K", "attn_v": "Q6_K", "ffn_down": "Q6_K", "output": "Q6_K"},
    "Q5_K_M": {"": "Q5_K", "attn_v": "Q6_K", "ffn_down": "Q6_K", "output": "Q6_K"},
}
"""Types of the tensors of files that are named after a mix of types, for `write_block_gguf`."""

_SCALES = {
    "Q8_0": (7e-4, 0, 0),
    "Q4_0": (1e-2, 0, 0),
    "IQ4_NL": (7e-4, 0, 0),
    "Q4_1": (1e-2, -7.5, 0),
    "Q5_0": (5e-3, 0, 0),
    "Q5_1": (5e-3, -15.5, 0),
    "Q4_K": (3e-4, 7.5, 0),
    "Q5_K": (1.5e-4, 15.5, 0),
    "Q6_K": (4e-5, 0, 208),
}
"""Size of the scale of a type, the factor from it to the offset (0: none), and the place of both in a block."""

_TYPES = {
    str: gguf.GGUFValueType.STRING,
    bool: gguf.GGUFValueType.BOOL,
    int: gguf.GGUFValueType.UINT32,
    float: gguf.GGUFValueType.FLOAT32,
}

FLOATS: Mapping[str, torch.dtype] = {"F16": torch.float16, "BF16": torch.bfloat16}
"""Types of single values that `random_blocks` makes too."""

PERMUTED = ("llama", "granite", "smollm3", "mistral3")
GEMMA = ("gemma2", "gemma3")
"""Architectures whose files have norms with 1 added."""

_NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "self_attn.qkv_proj": "attn_qkv",
    "mlp.gate_up_proj": "ffn_up",
}
_GEMMA_NAMES = _NAMES | {
    "post_attention_layernorm": "post_attention_norm",
    "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}


def source_tensors(*, bias: bool = False, tied: bool = True) -> dict[str, torch.Tensor]:
    """Make the tensors that `write_tiny_gguf` permutes and writes, under their hub names."""
    head_dim = SHAPE["hidden"] // SHAPE["heads"]
    return tiny_tensors(**SHAPE, vocab=VOCAB, bias=bias, tied=tied, head_dim=head_dim, seed=7)


def write_tiny_gguf(
    file: Path,
    *,
    architecture: str = "llama",
    changed: Mapping[str, Any] | None = None,
    extra_tensor: str | None = None,
    bias: bool = False,
    tied: bool = True,
    add_bos: bool = False,
    tensors: Mapping[str, torch.Tensor] | None = None,
    plain: Mapping[str, torch.Tensor] | None = None,
    blocks: Mapping[str, tuple[np.ndarray[Any, np.dtype[np.uint8]], str]] | None = None,
    pieces: TinyPieces | None = None,
) -> Path:
    """Write a model of two layers to `file`.

    tensors: those of another model of the same shape, under their hub names; None writes `source_tensors`.
    plain: further tensors under their names in the file.
    blocks: further matrices in blocks, with their types, under their names in the file.
    changed: metadata to add or override, by key.
    extra_tensor: name of an additional tensor; None adds none.
    pieces: vocabulary of the model; None writes the byte tokenizer.
    """
    writer = gguf.GGUFWriter(file, architecture)
    values: dict[str, Any] = {
        f"{architecture}.context_length": 512,
        f"{architecture}.embedding_length": SHAPE["hidden"],
        f"{architecture}.block_count": SHAPE["layers"],
        f"{architecture}.feed_forward_length": 2 * SHAPE["hidden"],
        f"{architecture}.attention.head_count": SHAPE["heads"],
        f"{architecture}.attention.head_count_kv": SHAPE["kv_heads"],
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{architecture}.rope.freq_base": 10000.0,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }
    vocabulary = _byte_vocabulary(add_bos=add_bos) if pieces is None else _vocabulary(pieces)
    for key, value in (values | vocabulary | dict(changed or {})).items():
        if isinstance(value, list):
            writer.add_array(key, value)
        else:
            writer.add_key_value(key, value, _TYPES[type(value)])
    if tensors is None:
        tensors = source_tensors(bias=bias, tied=tied)
    for name, tensor in tensors.items():
        written = in_file_order(name, tensor, architecture)
        if architecture in GEMMA and name.endswith("norm.weight"):
            written = written + 1
        writer.add_tensor(file_name(name, architecture), written.numpy())
    for name, tensor in (plain or {}).items():
        writer.add_tensor(name, tensor.numpy())
    for name, (data, type_) in (blocks or {}).items():
        writer.add_tensor(name, data, raw_dtype=gguf.GGMLQuantizationType[type_])
    if extra_tensor is not None:
        writer.add_tensor(extra_tensor, torch.ones(32).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def write_block_gguf(
    file: Path,
    types: Mapping[str, str],
    *,
    layers: int = 2,
    tied: bool = False,
    zero: str | None = None,
    infinite: tuple[str, int] | None = None,
    context: int = 512,
    shape: Mapping[str, int] = BLOCK_SHAPE,
    architecture: str = "llama",
) -> Path:
    """Write a Llama or Phi-3 of random matrices in blocks to `file`. Phi-3 rotates a part of each head.

    types: type of the blocks by the GGUF name of a tensor without its layer, such as "attn_v"; "" for all others.
    zero: name of a tensor whose weights are 0, so that it adds nothing; None for no such tensor.
    infinite: name of a tensor and place of a float16 number in a block, which is infinite in its last block.
    """
    hidden, vocab = shape["hidden"], VOCAB
    shapes = _matrix_shapes(shape, fused=architecture == "phi3")
    matrices = {
        f"blk.{layer}.{name}.weight": (name, sizes) for layer in range(layers) for name, sizes in shapes.items()
    }
    for name in ("token_embd",) if tied else ("token_embd", "output"):
        matrices[f"{name}.weight"] = (name, (vocab, hidden))
    norms = {f"blk.{layer}.{name}_norm.weight": hidden for layer in range(layers) for name in ("attn", "ffn")}
    random = np.random.default_rng(3)
    blocks = {
        name: (random_blocks(types.get(part, types[""]), sizes, random), types.get(part, types[""]))
        for name, (part, sizes) in matrices.items()
    }
    for name, (data, _) in blocks.items():
        if matrices[name][0] == zero:
            data[:] = 0
    if infinite is not None:
        data, type_ = blocks[infinite[0]]
        last = data.reshape(-1, gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type_]][1])[-1]
        last[infinite[1] : infinite[1] + 2] = np.frombuffer(np.float16(np.inf).tobytes(), np.uint8)
    keys = {
        "embedding_length": hidden,
        "feed_forward_length": shape["intermediate"],
        "attention.head_count": shape["heads"],
        "attention.head_count_kv": shape["kv_heads"],
        "block_count": layers,
        "context_length": context,
    } | ({"rope.dimension_count": hidden // shape["heads"] // 4 * 3} if architecture == "phi3" else {})
    changed = {f"{architecture}.{key}": value for key, value in keys.items()}
    ones = {name: torch.ones(size) for name, size in (norms | {"output_norm.weight": hidden}).items()}
    return write_tiny_gguf(file, architecture=architecture, changed=changed, tensors={}, plain=ones, blocks=blocks)


def _matrix_shapes(shape: Mapping[str, int], *, fused: bool) -> dict[str, tuple[int, int]]:
    hidden, inner = shape["hidden"], shape["intermediate"]
    kv_width = hidden // shape["heads"] * shape["kv_heads"]
    shapes = {"attn_output": (hidden, hidden), "ffn_down": (hidden, inner)}
    if fused:
        return shapes | {"attn_qkv": (hidden + 2 * kv_width, hidden), "ffn_up": (2 * inner, hidden)}
    return shapes | {
        "attn_q": (hidden, hidden),
        "attn_k": (kv_width, hidden),
        "attn_v": (kv_width, hidden),
        "ffn_gate": (inner, hidden),
        "ffn_up": (inner, hidden),
    }


def random_blocks(
    type_: str, shape: tuple[int, int], random: np.random.Generator
) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Make a matrix of random blocks whose weights have about the size 0.05.

    type_: type of blocks, or one of FLOATS, whose values bfloat16 holds without rounding.
    """
    if type_ in FLOATS:
        values = torch.from_numpy(random.normal(0, 0.05, shape)).bfloat16()
        return values.to(FLOATS[type_]).view(torch.uint8).numpy()
    places, nbytes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type_]]
    blocks = random.integers(0, 256, (shape[0], shape[1] // places, nbytes), np.uint8)
    scale, has_offset, at = _SCALES[type_]
    # Weights without an offset are not centered in their range. One sign would give all rows a direction in common.
    signs = np.ones(blocks.shape[:2]) if has_offset else random.choice([-1, 1], blocks.shape[:2])
    sizes = (scale * signs * random.uniform(0.5, 1.5, blocks.shape[:2])).astype(np.float16)
    blocks[..., at : at + 2] = sizes[..., None].view(np.uint8)
    if has_offset:
        offsets = (has_offset * sizes).astype(np.float16)
        blocks[..., at + 2 : at + 4] = offsets[..., None].view(np.uint8)
    if type_ == "Q8_0":
        blocks[..., 2:][blocks[..., 2:] == 128] = 0
    return blocks.reshape(shape[0], -1)


def _byte_vocabulary(*, add_bos: bool) -> dict[str, Any]:
    tokenizer = byte_tokenizer()
    tokens = [*(tokenizer.id_to_token(index) for index in range(BYTE_VOCAB)), "ab"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.add_bos_token": add_bos,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3 if token in SPECIAL_TOKENS else 1 for token in tokens],
        "tokenizer.ggml.merges": ["a b"],
    }


def _vocabulary(pieces: TinyPieces) -> dict[str, Any]:
    lists = {"tokens": pieces.tokens, "scores": pieces.scores, "token_type": pieces.types}
    return pieces.metadata | {f"tokenizer.ggml.{name}": values for name, values in lists.items()}


def file_name(name: str, architecture: str) -> str:
    """Return the name in a file of the tensor that is called `name` at the hub."""
    names = _GEMMA_NAMES if architecture in GEMMA else _NAMES
    stem, kind = name.rsplit(".", 1)
    if stem in names:
        return f"{names[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{names[part]}.{kind}"


def in_file_order(name: str, rows: torch.Tensor, architecture: str) -> torch.Tensor:
    """Return the rows of a tensor in the order of a file, which interleaves the halves of each head of q and k.

    name: that of the hub.
    rows: values or blocks.
    """
    heads = SHAPE["heads"] if "q_proj" in name else SHAPE["kv_heads"] if "k_proj" in name else None
    if heads is None or architecture not in PERMUTED:
        return rows
    halves = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return halves.swapaxes(1, 2).reshape(rows.shape).contiguous()
