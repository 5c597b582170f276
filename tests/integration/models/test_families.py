"""Families of the shared decoder, compared with transformers on random weights."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig, Mistral3Config, Mistral3ForConditionalGeneration

from models.errors import UnsupportedModelError
from models.interface.dense_context import DenseContext
from models.registry import load_model, read_config
from tests.family_logits import our_logits, their_logits
from tests.family_models import FAMILIES, MINISTRAL_ROPE, ONE_OF_EACH, SHAPE, save_family

CPU = torch.device("cpu")
SCALED = ("llama 3", "ministral3")
"""Models with scaled positions, of which transformers cannot rotate a part of each head."""


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_match_transformers(tmp_path: Path, name: str) -> None:
    folder = save_family(tmp_path / "model", name)
    ids = torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(2))
    exact = their_logits(folder, ids, torch.float32)
    torch.testing.assert_close(our_logits(folder, ids, torch.float32), exact, rtol=1e-4, atol=1e-4)
    error = distance(our_logits(folder, ids, torch.bfloat16), exact)
    assert error <= 1.3 * distance(their_logits(folder, ids, torch.bfloat16), exact)


@pytest.mark.parametrize("name", [name for name in ONE_OF_EACH if name not in SCALED])
def test_part_of_a_head_is_rotated_where_transformers_does(tmp_path: Path, name: str) -> None:
    folder = save_family(tmp_path / "model", name)
    file = folder / "config.json"
    config = json.loads(file.read_text())
    config["rope_parameters"].pop("partial_rotary_factor", None)
    file.write_text(json.dumps(config | {"partial_rotary_factor": 0.5}))
    ids = torch.randint(3, 250, (60,), generator=torch.Generator().manual_seed(2))
    exact = their_logits(folder, ids, torch.float32)
    torch.testing.assert_close(our_logits(folder, ids, torch.float32), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "named", "default"),
    [
        ("qwen2, windows above", [0, 0, 40, 40], [0, 0, 40, 40]),
        ("qwen3, windows", [40, 0, 40, 0], [0, 0, 0, 0]),
        ("smollm3, windows", [0, 40, 0, 40], [0, 40, 0, 40]),
        ("ministral", [40, 0, 40, 0], [40, 40, 40, 40]),
    ],
)
def test_windows_are_in_the_named_layers_or_by_default(
    tmp_path: Path, name: str, named: list[int], default: list[int]
) -> None:
    config = json.loads((save_family(tmp_path / "model", name) / "config.json").read_text())
    assert [layer.window for layer in read_config(config).layers] == named
    assert [layer.window for layer in read_config(config | {"layer_types": None}).layers] == default


def test_text_part_of_mistral_3_reads_like_the_model_alone(tmp_path: Path) -> None:
    text = json.loads((save_family(tmp_path / "model", "ministral3") / "config.json").read_text())
    whole = {"architectures": ["Mistral3ForConditionalGeneration"], "text_config": text}
    assert replace(read_config(whole), other_parts=()) == read_config(text)
    older = text | {"model_type": "mistral"}
    assert replace(read_config(whole | {"text_config": older}), other_parts=(), query_scaling=None) == read_config(
        older | {"architectures": ["MistralForCausalLM"]}
    )
    with pytest.raises(UnsupportedModelError, match="tie_word_embeddings"):
        read_config(whole | {"tie_word_embeddings": not text["tie_word_embeddings"]})


def test_window_of_the_context_selects_longropes_frequencies(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "phi3, long")
    ids = torch.arange(3, 60)
    model = load_model(folder, torch.float32, CPU, window=len(ids))
    assert model.kernels == "torch-longrope-short"
    assert load_model(folder, torch.float32, CPU, window=65).kernels == "torch-longrope-long"
    short = model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))
    torch.testing.assert_close(short, their_logits(folder, ids, torch.float32), rtol=1e-4, atol=1e-4)


@torch.inference_mode()
def test_mistral_3_folder_has_the_logits_of_transformers(tmp_path: Path) -> None:
    text = AutoConfig.for_model("ministral3", **SHAPE, rope_parameters=MINISTRAL_ROPE)
    vision = {"model_type": "pixtral", "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2}
    vision |= {"num_hidden_layers": 1, "head_dim": 16}
    config = Mistral3Config(text_config=text, vision_config=vision, tie_word_embeddings=False)
    network = Mistral3ForConditionalGeneration(config).eval()
    network.save_pretrained(tmp_path)
    ids = torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(2))
    exact = network(ids[None]).logits[0]
    torch.testing.assert_close(our_logits(tmp_path, ids, torch.float32), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("gemma2", {"layer_types": ["chunked_attention"] * 4}, "layer_types"),
        ("gemma2", {"attn_logit_softcapping": -1.0}, "attn_logit_softcapping"),
        ("gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ("qwen2", {"layer_types": ["sliding_attention"] * 4, "use_sliding_window": False}, "sliding_window"),
        ("qwen2, windows above", {"layer_types": None, "max_window_layers": -1}, "max_window_layers"),
        ("ministral3", {"rope_parameters": {"original_max_position_embeddings": 64}}, "llama_4_scaling_beta"),
        ("phi3", {"rope_parameters": {"partial_rotary_factor": 1.5}}, "partial_rotary_factor"),
        ("llama 3", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ("qwen3, yarn", {"partial_rotary_factor": 0.5}, "partial_rotary_factor"),
        ("phi3", {"rope_parameters": {"rope_type": "longrope", "short_factor": [1.0]}}, "short_factor"),
    ],
)
def test_unsupported_values_of_families_are_named(
    tmp_path: Path, name: str, changes: dict[str, object], words: str
) -> None:
    folder = save_family(tmp_path / "model", name)
    with pytest.raises(UnsupportedModelError, match=words):
        read_config(json.loads((folder / "config.json").read_text()) | changes)


def test_old_form_of_gemma_3s_config_reads_the_same(tmp_path: Path) -> None:
    new = json.loads((save_family(tmp_path / "model", "gemma3, scaled") / "config.json").read_text())
    old = {key: value for key, value in new.items() if key not in ("rope_parameters", "layer_types")}
    old |= {"rope_theta": 500.0, "rope_local_base_freq": 30.0, "rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    assert read_config(old | {"sliding_window_pattern": 2}) == read_config(new)
    images = {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": old | {"sliding_window_pattern": 2}}
    assert replace(read_config(images), other_parts=()) == read_config(new)


def test_granite_without_a_scale_of_logits_divides_by_one(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "granite")
    ids = torch.arange(3, 40)
    scaled = our_logits(folder, ids, torch.float32)
    config = json.loads((folder / "config.json").read_text()) | {"logits_scaling": 1.0}
    (folder / "config.json").write_text(json.dumps(config))
    torch.testing.assert_close(our_logits(folder, ids, torch.float32), 2 * scaled)
