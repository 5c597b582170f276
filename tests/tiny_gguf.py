"""Small GGUF files in the form that llama.cpp's converter writes: float32, for Llama with q and k permuted."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import torch

from tests.tiny_models import tiny_tensors
from tests.tiny_tokenizer import BYTE_VOCAB, CHAT_TEMPLATE, SPECIAL_TOKENS, byte_tokenizer

VOCAB = BYTE_VOCAB + 1
"""Tokens of the byte tokenizer, and "ab" from the only merge."""

SHAPE = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2}

_TYPES = {
    str: gguf.GGUFValueType.STRING,
    bool: gguf.GGUFValueType.BOOL,
    int: gguf.GGUFValueType.UINT32,
    float: gguf.GGUFValueType.FLOAT32,
}

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
) -> Path:
    """Write a model of two layers with the byte tokenizer to `file`.

    tensors: those of another model of the same shape, under their hub names; None writes `source_tensors`.
    changed: metadata to add or override, by key.
    extra_tensor: name of an additional tensor; None adds none.
    """
    writer = gguf.GGUFWriter(file, architecture)
    tokenizer = byte_tokenizer()
    tokens = [*(tokenizer.id_to_token(index) for index in range(BYTE_VOCAB)), "ab"]
    values: dict[str, Any] = {
        f"{architecture}.context_length": 512,
        f"{architecture}.embedding_length": SHAPE["hidden"],
        f"{architecture}.block_count": SHAPE["layers"],
        f"{architecture}.feed_forward_length": 2 * SHAPE["hidden"],
        f"{architecture}.attention.head_count": SHAPE["heads"],
        f"{architecture}.attention.head_count_kv": SHAPE["kv_heads"],
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
        f"{architecture}.rope.freq_base": 10000.0,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.add_bos_token": add_bos,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.padding_token_id": 2,
        "tokenizer.chat_template": CHAT_TEMPLATE,
    }
    for key, value in (values | dict(changed or {})).items():
        writer.add_key_value(key, value, _TYPES[type(value)])
    writer.add_array("tokenizer.ggml.tokens", tokens)
    writer.add_array("tokenizer.ggml.token_type", [3 if token in SPECIAL_TOKENS else 1 for token in tokens])
    writer.add_array("tokenizer.ggml.merges", ["a b"])
    for name, tensor in (tensors or source_tensors(bias=bias, tied=tied)).items():
        written = _permuted(name, tensor) if architecture == "llama" else tensor
        writer.add_tensor(_gguf_name(name), written.numpy())
    if extra_tensor is not None:
        writer.add_tensor(extra_tensor, torch.ones(32).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def _gguf_name(name: str) -> str:
    stem, kind = name.rsplit(".", 1)
    if stem in _NAMES:
        return f"{_NAMES[stem]}.{kind}"
    _, _, layer, part = stem.split(".", 3)
    return f"blk.{layer}.{_NAMES[part]}.{kind}"


def _permuted(name: str, tensor: torch.Tensor) -> torch.Tensor:
    heads = SHAPE["heads"] if "q_proj" in name else SHAPE["kv_heads"] if "k_proj" in name else None
    if heads is None:
        return tensor
    halves = tensor.reshape(heads, 2, tensor.shape[0] // heads // 2, *tensor.shape[1:])
    return halves.swapaxes(1, 2).reshape(tensor.shape).contiguous()
