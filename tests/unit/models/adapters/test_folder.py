"""Adapters as PEFT writes them: the formula, the identity, and refusals that name what is wrong."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from models.adapters.folder import read_adapter
from models.adapters.found import find_adapters
from models.adapters.peft_config import CONFIG_FILE, TENSOR_FILE
from models.decoder.adapters import fit_adapter
from models.decoder.config import DecoderConfig
from models.errors import ModelError, ModelNotFoundError, UnsupportedModelError, WeightsError
from models.interface.partition import whole
from models.registry import read_config
from models.weights.folder import ModelFolder
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "model", layers=3)


def changed(adapter: Path, **settings: Any) -> Path:
    """Change keys of adapter_config.json."""
    file = adapter / CONFIG_FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), **settings}))
    return adapter


def config_of(model: Path) -> DecoderConfig:
    return read_config(ModelFolder(model).config())


@pytest.mark.parametrize(
    ("settings", "factors"),
    [
        ({}, {"q": 2.0, "v": 2.0}),
        ({"use_rslora": True}, {"q": 4.0, "v": 4.0}),
        ({"alpha_pattern": {"v_proj": 20}}, {"q": 2.0, "v": 5.0}),
        ({"alpha_pattern": {r"layers\.[01]\..*q_proj": 4, "proj": 12, "v_proj": 16}}, {"q": 1.0, "v": 4.0}),
        ({"rank_pattern": {"v_proj": 4}, "lora_dropout": 0.1, "exclude_modules": "x"}, {"q": 2.0, "v": 2.0}),
    ],
)
def test_factor_follows_alpha_rank_and_patterns(
    tmp_path: Path, model: Path, settings: Mapping[str, Any], factors: Mapping[str, float]
) -> None:
    adapter = make_adapter(tmp_path / "own", model, targets=("q_proj", "v_proj"), layers=(1,), rank=4, alpha=8)
    stored = read_adapter(changed(adapter, **settings))
    assert {change.module[-6]: change.factor for change in stored.changes} == factors


REFUSALS: list[tuple[Mapping[str, Any], str]] = [
    ({"peft_type": "CPT"}, "peft_type 'CPT' is not supported, only 'LORA', 'PROMPT_TUNING'"),
    ({"use_dora": True}, "use_dora True is not supported"),
    ({"bias": "all"}, "bias 'all' is not supported: biases cannot be adapted"),
    ({"modules_to_save": ["lm_head"]}, "modules_to_save ['lm_head'] is not supported"),
    ({"trainable_token_indices": [5]}, "trainable_token_indices"),
    ({"target_parameters": ["experts.gate"]}, "experts cannot be adapted"),
    ({"layer_replication": [[0, 2]]}, "layers cannot be replicated"),
    ({"init_lora_weights": "pissa_niter_4"}, "init_lora_weights 'pissa_niter_4' changes the base model"),
    ({"alora_invocation_tokens": "<tool>"}, "alora_invocation_tokens '<tool>' is not a list of at most 256 token ids"),
    ({"alora_invocation_tokens": [1, -1]}, "alora_invocation_tokens [1, -1] is not a list"),
    ({"lora_alpha": "8"}, "lora_alpha '8' is not a number"),
    ({"lora_alpha": True}, "lora_alpha True is not a number"),
    ({"alpha_pattern": {"(": 1}}, "alpha_pattern '(' is not a regular expression"),
    ({"alpha_pattern": {"(a+)+b": 1}}, "alpha_pattern '(a+)+b' is not a regular expression of at most"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSALS)
def test_refusal_names_file_key_and_value(
    tmp_path: Path, model: Path, settings: Mapping[str, Any], message: str
) -> None:
    adapter = changed(make_adapter(tmp_path / "own", model), **settings)
    with pytest.raises(UnsupportedModelError) as refusal:
        read_adapter(adapter)
    assert message in str(refusal.value)
    assert str(adapter / CONFIG_FILE) in str(refusal.value)


@pytest.mark.parametrize(
    "name",
    [
        "base_model.model.lm_head.lora_A.weight",
        "base_model.model.lm_head.weight",
        "base_model.model.model.embed_tokens.lora_embedding_A",
        "base_model.model.model.layers.0.self_attn.q_proj.lora_magnitude_vector",
        "base_model.model.model.layers.0.mlp.experts.0.up_proj.lora_A.weight",
    ],
)
def test_other_tensors_are_refused_by_name(tmp_path: Path, model: Path, name: str) -> None:
    adapter = make_adapter(tmp_path / "own", model)
    save_file(load_file(adapter / TENSOR_FILE) | {name: torch.ones(4, 64)}, adapter / TENSOR_FILE)
    with pytest.raises(UnsupportedModelError, match="only the projections of attention and MLP") as refusal:
        read_adapter(adapter)
    assert name in str(refusal.value)


def test_damaged_folders_are_refused(tmp_path: Path, model: Path) -> None:
    cases: list[tuple[str, bytes | None, type[ModelError], str]] = [
        (TENSOR_FILE, None, ModelNotFoundError, "has no adapter_model.safetensors"),
        (TENSOR_FILE, b"nothing", WeightsError, TENSOR_FILE),
        (CONFIG_FILE, b"[]", ModelNotFoundError, "does not contain a JSON object"),
        (CONFIG_FILE, b"{", ModelNotFoundError, CONFIG_FILE),
    ]
    for at, (name, data, error, message) in enumerate(cases):
        file = make_adapter(tmp_path / str(at), model) / name
        file.write_bytes(data) if data is not None else file.unlink()
        with pytest.raises(error, match=message):
            read_adapter(file.parent)


def test_half_of_a_pair_is_refused(tmp_path: Path, model: Path) -> None:
    adapter = make_adapter(tmp_path / "own", model, targets=("q_proj",), layers=(0,))
    tensors = load_file(adapter / TENSOR_FILE)
    del tensors["base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight"]
    save_file(tensors, adapter / TENSOR_FILE)
    with pytest.raises(WeightsError, match=r"model\.layers\.0\.self_attn\.q_proj do not fit"):
        read_adapter(adapter)


def test_adapter_of_another_shape_is_refused(tmp_path: Path, model: Path) -> None:
    wide = make_tiny_model(tmp_path / "wide", hidden=128, layers=3)
    deep = make_tiny_model(tmp_path / "deep", layers=4)
    for other, message in ((wide, "has 64 outputs, not 128"), (deep, "changes layer 3, but the model has 3")):
        stored = read_adapter(make_adapter(tmp_path / other.name / "own", other, targets=("q_proj",)))
        with pytest.raises(WeightsError, match=message):
            fit_adapter(stored, config_of(model), whole(3), torch.float32)


def test_digest_is_that_of_the_content(tmp_path: Path, model: Path) -> None:
    digest = read_adapter(make_adapter(tmp_path / "a", model)).digest
    assert read_adapter(changed(make_adapter(tmp_path / "b", model), revision="x")).digest == digest
    others = [
        read_adapter(make_adapter(tmp_path / "c", model, seed=1)).digest,
        read_adapter(make_adapter(tmp_path / "d", model, dtype=torch.float16)).digest,
        read_adapter(changed(make_adapter(tmp_path / "e", model), use_rslora=True)).digest,
        read_adapter(make_adapter(tmp_path / "f", model, targets=("q_proj",))).digest,
        read_adapter(changed(make_adapter(tmp_path / "g", model), alora_invocation_tokens=[1, 2])).digest,
    ]
    assert len({digest, *others}) == 6


@pytest.mark.parametrize(
    ("targets", "layers", "changes_kv"),
    [
        (("q_proj", "o_proj", "gate_proj", "up_proj", "down_proj"), (2,), False),
        (("q_proj",), (1,), True),
        (("k_proj",), (2,), True),
        (("v_proj",), (2,), True),
        (("q_proj", "down_proj"), None, True),
    ],
)
def test_last_layer_without_k_and_v_leaves_kv_alone(
    tmp_path: Path, model: Path, targets: tuple[str, ...], layers: tuple[int, ...] | None, changes_kv: bool
) -> None:
    stored = read_adapter(make_adapter(tmp_path / "own", model, targets=targets, layers=layers))
    about = fit_adapter(stored, config_of(model), whole(3), torch.float32).about
    assert about.changes_kv == changes_kv


def test_folders_with_a_configuration_are_adapters(tmp_path: Path, model: Path) -> None:
    for name in ("b", "a"):
        make_adapter(tmp_path / "all" / name, model)
    (tmp_path / "all" / "notes").mkdir()
    (tmp_path / "all" / "readme.txt").write_text("x")
    assert [path.name for path in find_adapters(tmp_path / "all")] == ["a", "b"]
    with pytest.raises(ModelNotFoundError, match="missing"):
        find_adapters(tmp_path / "missing")
