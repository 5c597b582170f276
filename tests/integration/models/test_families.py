"""Families of the shared decoder, compared with transformers on random weights."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from models.dense_context import DenseContext
from models.errors import UnsupportedModelError
from models.registry import load_model, read_config, summarize
from tests.family_models import FAMILIES, save_family

CPU = torch.device("cpu")


def distance(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@torch.inference_mode()
def our_logits(folder: Path, ids: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    model = load_model(folder, dtype, CPU)
    return model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))


@torch.inference_mode()
def their_logits(folder: Path, ids: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager")
    logits: torch.Tensor = model(ids[None]).logits[0].float()
    return logits


@pytest.mark.parametrize("name", FAMILIES)
def test_logits_match_transformers(tmp_path: Path, name: str) -> None:
    folder = save_family(tmp_path / "model", name)
    ids = torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(2))
    exact = their_logits(folder, ids, torch.float32)
    torch.testing.assert_close(our_logits(folder, ids, torch.float32), exact, rtol=1e-4, atol=1e-4)
    error = distance(our_logits(folder, ids, torch.bfloat16), exact)
    assert error <= 1.3 * distance(their_logits(folder, ids, torch.bfloat16), exact)


@pytest.mark.parametrize("name", ["qwen2", "qwen3", "smollm3"])
def test_windows_in_some_layers_are_left_to_transformers(tmp_path: Path, name: str) -> None:
    folder = save_family(tmp_path / "model", name)
    windows = {"sliding_window": 40, "layer_types": ["sliding_attention", "full_attention"] * 2}
    config = json.loads((folder / "config.json").read_text()) | {"use_sliding_window": True, **windows}
    (folder / "config.json").write_text(json.dumps(config))
    assert "use_sliding_window" in summarize(folder, torch.float32, "cpu").refusal
    ids = torch.randint(3, 250, (150,), generator=torch.Generator().manual_seed(2))
    exact = their_logits(folder, ids, torch.float32)
    torch.testing.assert_close(our_logits(folder, ids, torch.float32), exact, rtol=1e-4, atol=1e-4)
    assert [call.window for call in load_model(folder, torch.float32, CPU).attention] == [40, 0, 40, 0]


def test_window_of_the_context_selects_longropes_frequencies(tmp_path: Path) -> None:
    folder = save_family(tmp_path / "model", "phi3, long")
    ids = torch.arange(3, 60)
    model = load_model(folder, torch.float32, CPU, window=len(ids))
    assert model.kernels == "torch-longrope-short"
    assert load_model(folder, torch.float32, CPU, window=65).kernels == "torch-longrope-long"
    short = model.compute_logits(model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention)))
    torch.testing.assert_close(short, their_logits(folder, ids, torch.float32), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "changes", "words"),
    [
        ("gemma2", {"layer_types": ["chunked_attention"] * 4}, "layer_types"),
        ("gemma2", {"attn_logit_softcapping": -1.0}, "attn_logit_softcapping"),
        ("gemma3", {"use_bidirectional_attention": True}, "use_bidirectional_attention"),
        ("phi3", {"rope_parameters": {"partial_rotary_factor": 1.5}}, "partial_rotary_factor"),
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
