"""Conversion of a GGUF file's network: its shape to a config.json, its tensors to hub names.

Source of keys and tensor names: github.com/ggml-org/ggml, docs/gguf.md. Keys begin with the name of the architecture.
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import gguf
import numpy as np
import torch

from models.errors import ConversionError
from models.gguf_import.architectures import architecture_of
from models.gguf_import.metadata import Metadata
from models.gguf_import.reader import FileTensor
from models.gguf_import.rope import ROPE_TENSORS, rope_fields
from models.weights.block_types import BLOCK_TYPES
from models.weights.safetensors_writer import TensorSource

_SCANNED = 1 << 15
"""Blocks that are scanned at once: few enough for the processor's cache."""
_GLOBAL_NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k": "self_attn.k_proj",
    "attn_k_norm": "self_attn.k_norm",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def network_config(tensors: Sequence[FileTensor], metadata: Metadata, *, has_values: bool = True) -> dict[str, Any]:
    """Build the contents of config.json, without the ids of the tokenizer.

    has_values: whether the values of tensors are in the file. Without them, positions may lack their scaling.

    Raise ConversionError for another architecture or rope scaling, and for split files.
    """
    prefix, architecture = metadata.text("general.architecture"), architecture_of(metadata)
    if metadata.get("split.count", 1) != 1:
        raise ConversionError("the model is split over several files; join them first")
    names = {tensor.name for tensor in tensors}
    hidden, heads = metadata.whole(f"{prefix}.embedding_length"), metadata.whole(f"{prefix}.attention.head_count")
    head_dim = metadata.whole(f"{prefix}.attention.key_length", default=hidden // heads)
    config = {
        "architectures": [architecture.name],
        "model_type": architecture.model_type,
        "torch_dtype": "bfloat16",
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": metadata.whole(f"{prefix}.feed_forward_length"),
        "num_hidden_layers": metadata.whole(f"{prefix}.block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": metadata.whole(f"{prefix}.attention.head_count_kv", default=heads),
        "head_dim": head_dim,
        "max_position_embeddings": metadata.whole(f"{prefix}.context_length"),
        **rope_fields(tensors, metadata, head_dim, has_values=has_values),
        "rms_norm_eps": metadata.decimal(f"{prefix}.attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in names,
        "attention_bias": "blk.0.attn_q.bias" in names,
        "mlp_bias": False,
    }
    return config | architecture.fields(metadata, config)


def tensor_sources(
    tensors: Sequence[FileTensor], metadata: Metadata, config: Mapping[str, Any], *, keep_blocks: bool
) -> list[TensorSource]:
    """List all tensors of the file under their hub names. Each is read only when it is written.

    config: contents of config.json.
    keep_blocks: whether matrices of BLOCK_TYPES stay in blocks. All others are dequantized.

    Raise ConversionError for a tensor that no supported model has, or of a type that cannot be dequantized.
    """
    _check_types(tensors)
    architecture = architecture_of(metadata)
    heads: dict[str, int] = {}
    if architecture.interleaves:
        heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    layer_names = {**_LAYER_NAMES, **architecture.layer_names}
    sources = []
    # All names are checked before any tensor is read.
    used = [tensor for tensor in tensors if tensor.name not in ROPE_TENSORS]
    named = [(tensor, *_hub_name(tensor.name, layer_names)) for tensor in used]
    for tensor, name, part in named:
        if keep_blocks and _has_blocks(tensor):
            values = partial(_blocks, tensor, heads.get(part))
            sources.append(TensorSource(name, tensor.data.shape, values, tensor.type_.name))
        else:
            offset = architecture.norm_offset if part.endswith("_norm") else 0.0
            sources.append(TensorSource(name, tensor.shape, partial(_values, tensor, heads.get(part), offset)))
    return sources


def _check_types(tensors: Sequence[FileTensor]) -> None:
    """Raise ConversionError for tensors of a type that cannot be dequantized, without reading any of them."""
    unsupported = set()
    for type_ in {tensor.type_ for tensor in tensors}:
        _, nbytes = gguf.GGML_QUANT_SIZES[type_]
        try:
            gguf.dequantize(np.zeros((1, nbytes), np.uint8), type_)
        except NotImplementedError:
            unsupported.add(type_)
    wrong = [tensor for tensor in tensors if tensor.type_ in unsupported]
    if wrong:
        raise ConversionError(
            f"{len(wrong)} tensors of the file have a type that is not supported, such as {wrong[0].name} with "
            f"{wrong[0].type_.name}"
        )


def _has_blocks(tensor: FileTensor) -> bool:
    """Return whether the kernels compute with the blocks of a tensor."""
    if tensor.type_.name not in BLOCK_TYPES or len(tensor.shape) != 2:
        return False
    if tensor.type_ is not gguf.GGMLQuantizationType.Q8_0:
        return True
    # The kernels store a sign and 7 bits. llama.cpp's quantization never makes a -128.
    integers = tensor.data.reshape(-1, 34)[:, 2:].view(np.int8)
    return all(integers[at : at + _SCANNED].min() > -128 for at in range(0, len(integers), _SCANNED))


def _hub_name(name: str, layer_names: Mapping[str, str]) -> tuple[str, str]:
    hit = re.fullmatch(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)", name)
    if hit is not None:
        layer, part, kind = hit.groups()
        table = _GLOBAL_NAMES if layer is None else layer_names
        if part in table:
            return f"{'' if layer is None else f'model.layers.{layer}.'}{table[part]}.{kind}", part
    raise ConversionError(f"the file has a tensor {name}, which no supported model has")


def _values(tensor: FileTensor, heads: int | None, offset: float) -> torch.Tensor:
    values = tensor.values()
    return _in_order(values - offset if offset else values, heads)


def _blocks(tensor: FileTensor, heads: int | None) -> torch.Tensor:
    return _in_order(torch.from_numpy(tensor.data.copy()), heads)


def _in_order(rows: torch.Tensor, heads: int | None) -> torch.Tensor:
    """Separate the two halves of each head of q and k, which GGUF writers interleave for their rotary order."""
    if heads is None:
        return rows
    shape = rows.shape
    return rows.reshape(heads, shape[0] // heads // 2, 2, -1).transpose(1, 2).reshape(shape)
