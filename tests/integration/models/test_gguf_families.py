"""Networks of GGUF files, of each architecture: the logits of transformers for the same weights."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from models.dense_context import DenseContext
from models.errors import ConversionError
from models.gguf_import.convert import convert_gguf
from models.hub_gguf import read_head
from models.registry import load_model
from tests.family_models import save_random
from tests.tiny_gguf import SHAPE, VOCAB, write_tiny_gguf

HUB_SHAPE = {
    "hidden_size": SHAPE["hidden"],
    "intermediate_size": 2 * SHAPE["hidden"],
    "num_hidden_layers": SHAPE["layers"],
    "num_attention_heads": SHAPE["heads"],
    "num_key_value_heads": SHAPE["kv_heads"],
    "head_dim": SHAPE["hidden"] // SHAPE["heads"],
    "vocab_size": VOCAB,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "pad_token_id": 2,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 32.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 10000.0,
    "factor": 16.0,
    "original_max_position_embeddings": 64,
    "beta_fast": 1.0,
    "beta_slow": 0.05,
}
YARN_KEYS = {
    "rope.scaling.type": "yarn",
    "rope.scaling.factor": 16.0,
    "rope.scaling.original_context_length": 64,
    "rope.scaling.yarn_beta_fast": 1.0,
    "rope.scaling.yarn_beta_slow": 0.05,
}
GRANITE = {
    "attention_multiplier": 0.11,
    "embedding_multiplier": 7.0,
    "residual_multiplier": 0.3,
    "logits_scaling": 5.0,
}
GRANITE_KEYS = {"attention.scale": 0.11, "embedding_scale": 7.0, "residual_scale": 0.3, "logit_scale": 5.0}
PHI3 = {"tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}}
LONG, SHORT = torch.linspace(2, 9, 6), torch.linspace(1, 3, 6)
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.75,
    "original_max_position_embeddings": 64,
    "long_factor": LONG.tolist(),
    "short_factor": SHORT.tolist(),
}
LONGROPE_KEYS = {
    "rope.dimension_count": 12,
    "rope.scaling.original_context_length": 64,
    "rope.scaling.attn_factor": 1.2247448713915890,
}
SOFTCAPS = {"attn_logit_softcapping": 4.0, "final_logit_softcapping": 5.0}
GEMMA2 = SOFTCAPS | {"query_pre_attn_scalar": 16, "sliding_window": 40}
GEMMA2_KEYS = SOFTCAPS | {"attention.sliding_window": 40, "attention.key_length": 16}
GEMMA3 = {"query_pre_attn_scalar": 16, "sliding_window": 40, "num_hidden_layers": 7}
GEMMA3_KEYS = {"block_count": 7, "attention.key_length": 16, "attention.sliding_window": 40}
LOCAL = {"rope_type": "default", "rope_theta": 30.0}


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


def llama3_divisors() -> torch.Tensor:
    """Compute the content of `rope_freqs.weight` from the frequencies of transformers."""
    config = AutoConfig.for_model("llama", head_dim=SHAPE["hidden"] // SHAPE["heads"], rope_parameters=LLAMA3)
    scaled: torch.Tensor
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    plain = 10000.0 ** (-torch.arange(0, 2 * len(scaled), 2) / (2 * len(scaled)))
    return plain / scaled


FAMILIES = {
    "qwen2": Family("qwen2", "qwen2"),
    "qwen3": Family("qwen3", "qwen3"),
    "qwen3, yarn": Family("qwen3", "qwen3", {"rope_parameters": YARN}, YARN_KEYS),
    "llama": Family("llama", "llama"),
    "llama, linear": Family(
        "llama", "llama", {"rope_parameters": LINEAR}, {"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
    ),
    "llama, old": Family("llama", "llama", {"rope_parameters": LINEAR}, {"rope.scale_linear": 4.0}),
    "llama 3": Family("llama", "llama", {"rope_parameters": LLAMA3}, {}, {"rope_freqs.weight": llama3_divisors()}),
    "mistral": Family("llama", "mistral", {"sliding_window": None}),
    "granite": Family("granite", "granite", GRANITE, GRANITE_KEYS),
    "smollm3": Family("smollm3", "smollm3", {"num_hidden_layers": 4}, {"block_count": 4}),
    "mistral3": Family("mistral3", "mistral", {"sliding_window": None}),
    "ministral3": Family(
        "mistral3",
        "ministral3",
        {"rope_parameters": YARN | {"mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.2}},
        YARN_KEYS | {"rope.scaling.yarn_log_multiplier": 1.0, "attention.temperature_scale": 0.2},
    ),
    "phi3": Family("phi3", "phi3", PHI3 | {"sliding_window": 40}, {"attention.sliding_window": 40}),
    "phi3, no window": Family("phi3", "phi3", PHI3, {"attention.sliding_window": 0}),
    "phi3, long": Family(
        "phi3",
        "phi3",
        PHI3 | {"rope_parameters": LONGROPE, "original_max_position_embeddings": 64},
        LONGROPE_KEYS,
        {"rope_factors_long.weight": LONG, "rope_factors_short.weight": SHORT},
    ),
    "gemma2": Family(
        "gemma2", "gemma2", GEMMA2 | {"sliding_window": 40}, GEMMA2_KEYS | {"attention.sliding_window": 40}
    ),
    "gemma3": Family(
        "gemma3",
        "gemma3_text",
        GEMMA3
        | {"rope_parameters": {"sliding_attention": LOCAL, "full_attention": LINEAR}, "final_logit_softcapping": 5.0},
        GEMMA3_KEYS
        | {"rope.freq_base_swa": 30.0, "rope.scaling.type": "linear", "rope.scaling.factor": 4.0}
        | {"final_logit_softcapping": 5.0},
    ),
    "gemma3, pattern": Family(
        "gemma3",
        "gemma3_text",
        GEMMA3
        | {
            "rope_parameters": {
                "sliding_attention": LOCAL | {"rope_theta": 10000.0},
                "full_attention": LOCAL | {"rope_theta": 10000.0},
            },
            "num_hidden_layers": 3,
            "layer_types": ["full_attention", "sliding_attention", "full_attention"],
        },
        GEMMA3_KEYS | {"block_count": 3, "attention.sliding_window_pattern": [False, True, False]},
    ),
}


def save_source(folder: Path, family: Family) -> dict[str, torch.Tensor]:
    """Save a random model in bfloat16, as models are published, and return its tensors."""
    save_random(folder, family.kind, HUB_SHAPE | family.settings)
    tensors = {name: tensor.bfloat16().float() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return tensors


def converted(file: Path) -> Path:
    folder = file.with_suffix("")
    folder.mkdir()
    convert_gguf(file, folder, lambda line: None, keep_blocks=True)
    return folder


@torch.inference_mode()
def our_logits(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    model = load_model(folder, torch.float32, torch.device("cpu"))
    return model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))


@torch.inference_mode()
def their_logits(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    logits: torch.Tensor = model(ids[None]).logits[0]
    return logits


def write_family(folder: Path, name: str) -> Path:
    """Write a random model to the folder `source`, and the same model to the file that is returned."""
    family = FAMILIES[name]
    return write_tiny_gguf(
        folder / "tiny.gguf",
        architecture=family.architecture,
        changed={f"{family.architecture}.{key}": value for key, value in family.keys.items()},
        tensors=save_source(folder / "source", family),
        plain=family.plain,
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_of_a_file_match_transformers(tmp_path: Path, name: str) -> None:
    file = write_family(tmp_path, name)
    ids = torch.randint(3, VOCAB, (100,), generator=torch.Generator().manual_seed(2))
    expected = their_logits(tmp_path / "source", ids)
    torch.testing.assert_close(our_logits(converted(file), ids), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["llama 3", "phi3, long", "gemma3"])
def test_file_is_judged_before_its_tensors_are_there(tmp_path: Path, name: str) -> None:
    file = write_family(tmp_path, name)
    whole, start = read_head(file), gguf.GGUFReader(file).data_offset
    with file.open("r+b") as stream:
        size = stream.seek(0, 2)
        stream.truncate(start)
        stream.truncate(size)
    assert read_head(file) == whole


def test_unknown_divisors_of_frequencies_are_refused(tmp_path: Path) -> None:
    plain = {"rope_freqs.weight": llama3_divisors() * 1.01}
    with pytest.raises(ConversionError, match=r"divisors in rope_freqs\.weight"):
        converted(write_tiny_gguf(tmp_path / "tiny.gguf", plain=plain))


@pytest.mark.parametrize(("architecture", "layers"), [("gemma2", 46), ("gemma3", 62)])
def test_largest_gemma_scales_queries_by_another_width(tmp_path: Path, architecture: str, layers: int) -> None:
    keys = {f"{architecture}.block_count": layers, f"{architecture}.attention.key_length": 32}
    file = write_tiny_gguf(tmp_path / "tiny.gguf", architecture=architecture, changed=keys, tensors={})
    assert '"query_pre_attn_scalar": 16' in (converted(file) / "config.json").read_text()


@pytest.mark.parametrize(
    ("architecture", "changed", "words"),
    [
        ("gemma3", {"gemma3.attention.sliding_window_pattern": [True]}, r"\[True\] as its sliding_window_pattern"),
        ("mistral3", {"mistral3.attention.temperature_scale": 0.1}, "mistral3.attention.temperature_scale"),
    ],
)
def test_inconsistent_file_is_refused(tmp_path: Path, architecture: str, changed: dict[str, Any], words: str) -> None:
    with pytest.raises(ConversionError, match=words):
        converted(write_tiny_gguf(tmp_path / "tiny.gguf", architecture=architecture, changed=changed, tensors={}))
