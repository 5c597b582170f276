"""Random models of the architectures of GGUF files: as their hub has them, and the same models as files."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import gguf
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from tests.family_models import save_random
from tests.tiny_gguf import BLOCK_SHAPE, SHAPE, VOCAB, file_name, in_file_order, random_blocks, write_tiny_gguf

LAYERS, HEADS, KV_HEADS = SHAPE["layers"], SHAPE["heads"], SHAPE["kv_heads"]
NARROW: Final = SHAPE["hidden"]
WIDE: Final = BLOCK_SHAPE["hidden"]
"""Width of models whose rows are whole blocks of every type, and whose heads have kernels."""

LLAMA3: Final = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
LINEAR: Final = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
YARN: Final = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 16.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 1.0,
    "beta_slow": 0.05,
}
YARN_KEYS: Final = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 16.0,
    "rope.scaling.original_context_length": 64,
    "rope.scaling.yarn_beta_fast": 1.0,
    "rope.scaling.yarn_beta_slow": 0.05,
}
GRANITE: Final = {
    "attention_multiplier": 0.11,
    "embedding_multiplier": 7.0,
    "residual_multiplier": 0.3,
    "logits_scaling": 5.0,
}
GRANITE_KEYS: Final = {
    "attention.scale": 0.11,
    "embedding_scale": 7.0,
    "residual_scale": 0.3,
    "logit_scale": 5.0,
}
PHI3: Final = {"tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
SOFTCAPS: Final = {"attn_logit_softcapping": 4.0, "final_logit_softcapping": 5.0}
LOCAL: Final = {"rope_type": "default", "rope_theta": 30.0}


@dataclass(frozen=True)
class Family:
    """An architecture with settings.

    architecture, keys: as in the file, without the architecture before a key.
    kind, settings: as in config.json.
    plain: tensors of the file that the hub has not.
    """

    architecture: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    keys: dict[str, Any] = field(default_factory=dict)
    plain: dict[str, torch.Tensor] = field(default_factory=dict)


def families(hidden: int) -> dict[str, Family]:
    """Describe models of each architecture with a residual stream of `hidden`, by name."""
    head_dim = hidden // HEADS
    linear_keys = {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    temperature = {"mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.2}
    temperature_keys = {"rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.2}
    return {
        "qwen2": Family("qwen2", "qwen2"),
        "qwen3": Family("qwen3", "qwen3"),
        "qwen3, yarn": Family("qwen3", "qwen3", {"rope_parameters": YARN}, YARN_KEYS),
        "llama": Family("llama", "llama"),
        "llama, linear": Family("llama", "llama", {"rope_parameters": LINEAR}, linear_keys),
        "llama, old": Family("llama", "llama", {"rope_parameters": LINEAR}, {"rope.scale_linear": 4.0}),
        "llama 3": Family(
            "llama", "llama", {"rope_parameters": LLAMA3}, {}, {"rope_freqs.weight": llama3_divisors(head_dim)}
        ),
        "mistral": Family("llama", "mistral", {"sliding_window": None}),
        "granite": Family("granite", "granite", GRANITE, GRANITE_KEYS),
        "smollm3": Family("smollm3", "smollm3", {"num_hidden_layers": 4}, {"block_count": 4}),
        "mistral3": Family("mistral3", "mistral", {"sliding_window": None}),
        "ministral3": Family(
            "mistral3", "ministral3", {"rope_parameters": YARN | temperature}, YARN_KEYS | temperature_keys
        ),
        "phi3": Family("phi3", "phi3", PHI3 | {"sliding_window": 40}, {"attention.sliding_window": 40}),
        "phi3, no window": Family("phi3", "phi3", PHI3, {"attention.sliding_window": 0}),
        "phi3, long": _long_phi3(head_dim),
        **_gemmas(head_dim),
    }


def llama3_divisors(head_dim: int) -> torch.Tensor:
    """Compute the content of `rope_freqs.weight` from the frequencies of transformers."""
    config = AutoConfig.for_model("llama", head_dim=head_dim, rope_parameters=LLAMA3)
    scaled: torch.Tensor
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    plain = 10000.0 ** (-torch.arange(0, 2 * len(scaled), 2) / (2 * len(scaled)))
    return plain / scaled


def _long_phi3(head_dim: int) -> Family:
    """Describe a Phi-3 with LongRoPE. Three quarters of each head are rotated."""
    rotated = head_dim // 4 * 3
    long, short = torch.linspace(2, 9, rotated // 2), torch.linspace(1, 3, rotated // 2)
    longrope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "partial_rotary_factor": 0.75,
        "original_max_position_embeddings": 64,
        "long_factor": long.tolist(),
        "short_factor": short.tolist(),
    }
    keys = {
        "rope.dimension_count": rotated,
        "rope.scaling.original_context_length": 64,
        "rope.scaling.attn_factor": 1.2247448713915890,
    }
    settings = PHI3 | {"rope_parameters": longrope, "original_max_position_embeddings": 64}
    plain = {"rope_factors_long.weight": long, "rope_factors_short.weight": short}
    return Family("phi3", "phi3", settings, keys, plain)


def _gemmas(head_dim: int) -> dict[str, Family]:
    settings = {"query_pre_attn_scalar": head_dim, "sliding_window": 40}
    keys = {"attention.key_length": head_dim, "attention.sliding_window": 40}
    seven, seven_keys = settings | {"num_hidden_layers": 7}, keys | {"block_count": 7}
    three, three_keys = settings | {"num_hidden_layers": 3}, keys | {"block_count": 3}
    capped = {"final_logit_softcapping": 5.0}
    scaled = {"rope_parameters": {"sliding_attention": LOCAL, "full_attention": LINEAR}}
    scaled_keys = {"rope.freq_base_swa": 30.0, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    plain = dict.fromkeys(("sliding_attention", "full_attention"), LOCAL | {"rope_theta": 10000.0})
    layers = {"layer_types": ["full_attention", "sliding_attention", "full_attention"]}
    layers_keys = {"attention.sliding_window_pattern": [False, True, False]}
    return {
        "gemma2": Family("gemma2", "gemma2", SOFTCAPS | settings, SOFTCAPS | keys),
        "gemma3": Family("gemma3", "gemma3_text", seven | scaled | capped, seven_keys | scaled_keys | capped),
        "gemma3, pattern": Family(
            "gemma3", "gemma3_text", three | layers | {"rope_parameters": plain}, three_keys | layers_keys
        ),
    }


FAMILIES: Final = families(NARROW)
WIDE_FAMILIES: Final = families(WIDE)


def hub_config(family: Family, hidden: int) -> dict[str, Any]:
    """Return the configuration of a family's model with a residual stream of `hidden`, for transformers."""
    shape = {
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "head_dim": hidden // HEADS,
        "vocab_size": VOCAB,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "pad_token_id": 2,
    }
    return shape | family.settings


def save_source(folder: Path, family: Family, hidden: int) -> dict[str, torch.Tensor]:
    """Save a random model in bfloat16, as models are published, and return its tensors."""
    save_random(folder, family.kind, hub_config(family, hidden))
    tensors = {name: tensor.bfloat16().float() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return tensors


def write_family(folder: Path, name: str) -> Path:
    """Write a random model of float32 to the folder `source`, and the same model to the file that is returned."""
    family = FAMILIES[name]
    return write_tiny_gguf(
        folder / "tiny.gguf",
        architecture=family.architecture,
        changed=_file_keys(family),
        tensors=save_source(folder / "source", family, NARROW),
        plain=family.plain,
    )


@dataclass(frozen=True)
class BlockModel:
    """A random model in two forms.

    file: the model in blocks.
    source: a folder with the values that the blocks stand for, in float32, as transformers loads them.
    types: type of each matrix, by its name at the hub.
    """

    file: Path
    source: Path
    types: Mapping[str, str]


def write_block_family(folder: Path, name: str, types: Mapping[str, str]) -> BlockModel:
    """Write a random model of one of WIDE_FAMILIES.

    types: type of the blocks by the GGUF name of a tensor without its layer, such as "attn_v"; "" for all others.
        F16 and BF16 are types of single values.
    """
    family, random = WIDE_FAMILIES[name], np.random.default_rng(3)
    tensors = save_source(folder / "source", family, WIDE)
    blocks, chosen = {}, {}
    for hub_name in [name for name, tensor in tensors.items() if tensor.dim() == 2]:
        in_file = file_name(hub_name, family.architecture)
        type_ = types.get(in_file.split(".")[-2], types[""])
        rows, columns = tensors[hub_name].shape
        data = random_blocks(type_, (rows, columns), random)
        values = gguf.dequantize(data, gguf.GGMLQuantizationType[type_])
        ordered = in_file_order(hub_name, torch.from_numpy(data), family.architecture)
        blocks[in_file], chosen[hub_name] = (ordered.numpy(), type_), type_
        tensors[hub_name] = torch.from_numpy(values).clone()
    save_file(tensors, folder / "source" / "model.safetensors", {"format": "pt"})
    sizes = {"embedding_length": WIDE, "feed_forward_length": 2 * WIDE}
    file = write_tiny_gguf(
        folder / "tiny.gguf",
        architecture=family.architecture,
        changed=_file_keys(replace(family, keys=sizes | family.keys)),
        tensors={name: tensor for name, tensor in tensors.items() if tensor.dim() == 1},
        plain=family.plain,
        blocks=blocks,
    )
    return BlockModel(file, folder / "source", chosen)


def _file_keys(family: Family) -> dict[str, Any]:
    return {f"{family.architecture}.{key}": value for key, value in family.keys.items()}


@torch.inference_mode()
def their_logits(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    """Compute the logits of transformers in float32, [len(ids), vocab]."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    logits: torch.Tensor = model(ids[None]).logits[0]
    return logits
