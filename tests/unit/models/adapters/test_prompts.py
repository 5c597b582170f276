"""Prompt adapters in PEFT's format: their digests, their rows, and refusals that name the wrong key."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from models.adapters.adapter import FIRST_VIRTUAL
from models.adapters.peft_config import CONFIG_FILE, TENSOR_FILE
from models.adapters.prompts import is_prompt, read_prompt
from models.decoder.virtual_rows import fit_prompt
from models.errors import ModelError, ModelNotFoundError, UnsupportedModelError, WeightsError
from models.interface.partition import Stage, whole
from models.registry import read_config
from models.weights.folder import ModelFolder
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model
from tests.tiny_prompts import KINDS, make_prompt


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "model", layers=3)


def test_prompt_adapters_are_recognized_by_their_type(tmp_path: Path, model: Path) -> None:
    assert all(is_prompt(make_prompt(tmp_path / kind, model, kind)) for kind in KINDS)
    assert not is_prompt(make_adapter(tmp_path / "lora", model))


def test_digest_is_that_of_the_content(tmp_path: Path, model: Path) -> None:
    one, copy, other = (
        make_prompt(tmp_path / f"{seed}{at}", model, "P_TUNING", seed=seed) for at, seed in enumerate((1, 1, 2))
    )
    assert read_prompt(one).digest == read_prompt(copy).digest != read_prompt(other).digest
    # The same numbers as embeddings, and as the K and V of a model whose sizes allow both.
    file = one / CONFIG_FILE
    file.write_text(file.read_text().replace("P_TUNING", "PREFIX_TUNING"))
    assert read_prompt(one).digest != read_prompt(copy).digest


def test_virtual_tokens_come_before_the_prompt(tmp_path: Path, model: Path) -> None:
    stored = read_prompt(make_prompt(tmp_path / "own", model, "PROMPT_TUNING", tokens=3))
    about = fit_prompt(stored, read_config(ModelFolder(model).config()), whole(3), torch.float32).about
    assert about.num_virtual == 3
    assert about.changes_kv
    assert about.lead((7, 8)) == (FIRST_VIRTUAL, FIRST_VIRTUAL + 1, FIRST_VIRTUAL + 2, 7, 8)


def test_process_has_the_kv_of_its_layers_and_heads(tmp_path: Path, model: Path) -> None:
    config = read_config(ModelFolder(model).config())
    stored = read_prompt(make_prompt(tmp_path / "own", model, "PREFIX_TUNING", tokens=5))
    every = fit_prompt(stored, config, whole(3), torch.float32).kv
    last = Stage(range(1, 3), is_first=False, is_last=True)
    own = fit_prompt(stored, config, last, torch.float32, rank=1, ranks=2).kv
    assert every is not None
    assert own is not None
    assert every.shape == (3, 2, 5, config.num_kv_heads, config.head_dim)
    assert torch.equal(own, every[1:, :, :, 1:])
    # PEFT's order within a row: layer, K or V, head.
    assert torch.equal(every[2, 1, 4].flatten(), stored.rows[4, -config.num_kv_heads * config.head_dim :])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"num_virtual_tokens": 0}, "num_virtual_tokens 0 is not a number from 1 to 512"),
        ({"num_virtual_tokens": 513}, "num_virtual_tokens 513 is not a number from 1 to 512"),
        ({"num_virtual_tokens": "20"}, "num_virtual_tokens '20' is not a number"),
        ({"num_virtual_tokens": True}, "num_virtual_tokens True is not a number"),
        ({"num_transformer_submodules": 2}, "num_transformer_submodules 2 is not supported"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save is not supported"),
    ],
)
def test_refusal_names_file_key_and_value(tmp_path: Path, model: Path, settings: dict[str, Any], message: str) -> None:
    adapter = make_prompt(tmp_path / "own", model, "PROMPT_TUNING", **settings)
    with pytest.raises(UnsupportedModelError) as refusal:
        read_prompt(adapter)
    assert message in str(refusal.value)
    assert str(adapter / CONFIG_FILE) in str(refusal.value)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({}, "has the tensors none, not prompt_embeddings alone"),
        ({"prompt_embeddings": torch.ones(20, 64), "score.weight": torch.ones(1)}, "prompt_embeddings, score.weight"),
        ({"prompt_embeddings": torch.ones(19, 64)}, r"\[19, 64\], not a matrix of 20 rows"),
        ({"prompt_embeddings": torch.ones(20)}, r"\[20\], not a matrix of 20 rows"),
        ({"prompt_embeddings": torch.ones(20, 64, dtype=torch.int32)}, "int32"),
    ],
)
def test_other_tensors_are_refused(tmp_path: Path, model: Path, tensors: dict[str, torch.Tensor], message: str) -> None:
    adapter = make_prompt(tmp_path / "own", model, "PROMPT_TUNING")
    save_file(tensors, adapter / TENSOR_FILE)
    with pytest.raises(WeightsError, match=message):
        read_prompt(adapter)


def test_missing_and_damaged_files_are_named(tmp_path: Path, model: Path) -> None:
    adapter = make_prompt(tmp_path / "own", model, "PROMPT_TUNING")
    file = adapter / TENSOR_FILE
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ModelError, match=r"own/adapter_model\.safetensors"):
        read_prompt(adapter)
    file.unlink()
    with pytest.raises(ModelNotFoundError, match=r"own has no adapter_model\.safetensors"):
        read_prompt(adapter)
    (adapter / CONFIG_FILE).write_text(json.dumps([1]))
    with pytest.raises(ModelNotFoundError, match="does not contain a JSON object"):
        is_prompt(adapter)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_another_model_are_refused(tmp_path: Path, model: Path, kind: str) -> None:
    other = make_tiny_model(tmp_path / "other", hidden=128, layers=2)
    stored = read_prompt(make_prompt(tmp_path / "own", other, kind))
    with pytest.raises(WeightsError, match="the adapter own does not fit the model: a virtual token has"):
        fit_prompt(stored, read_config(ModelFolder(model).config()), whole(3), torch.float32)


def test_adapter_without_room_for_a_prompt_is_refused(tmp_path: Path) -> None:
    short = make_tiny_model(tmp_path / "short", max_positions=64)
    stored = read_prompt(make_prompt(tmp_path / "own", short, "PROMPT_TUNING", tokens=64))
    with pytest.raises(WeightsError, match="its 64 virtual tokens leave no room for a prompt"):
        fit_prompt(stored, read_config(ModelFolder(short).config()), whole(2), torch.float32)


def test_rows_are_read_as_they_were_written(tmp_path: Path, model: Path) -> None:
    adapter = make_prompt(tmp_path / "own", model, "PROMPT_TUNING", tokens=7)
    [rows] = load_file(adapter / TENSOR_FILE).values()
    fitted = fit_prompt(read_prompt(adapter), read_config(ModelFolder(model).config()), whole(3), torch.float32)
    assert torch.equal(fitted.embeddings, rows)
    assert fitted.kv is None
