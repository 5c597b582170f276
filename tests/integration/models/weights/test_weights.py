"""Loading of invalid model folders: each is refused with the name of the tensor, key or file at fault."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from models.errors import ModelNotFoundError, UnsupportedModelError, WeightsError
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.registry import load_model, read_config
from models.transformers.model import load_network
from models.weights.fingerprint import model_fingerprint
from models.weights.folder import ModelFolder
from models.weights.weight_names import INDEX
from tests.tiny_models import make_tiny_model

Tensors = dict[str, torch.Tensor]
Q = "model.layers.1.self_attn.q_proj.weight"


def load(folder: Path) -> CausalLM:
    return load_model(folder, torch.float32, torch.device("cpu"))


def logits(model: CausalLM) -> torch.Tensor:
    return model.compute_logits(model.forward(torch.arange(5, 15), torch.arange(10), DenseContext(model.attention)))


def edit(folder: Path, change: Callable[[Tensors], object]) -> Path:
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    return folder


def configure(folder: Path, **changes: object) -> Path:
    raw = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps({key: value for key, value in raw.items() if value is not None}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path)


def test_missing_tensors_are_named(folder: Path) -> None:
    edit(folder, lambda tensors: (tensors.pop(Q), tensors.pop("model.norm.weight")))
    with pytest.raises(WeightsError, match=f"missing: {Q}, model.norm.weight$"):
        load(folder)


def test_unknown_tensors_are_named(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.update({"model.layers.0.mystery": torch.ones(1)}))
    with pytest.raises(WeightsError, match=r"unknown: model\.layers\.0\.mystery$"):
        load(folder)


def test_tensor_of_wrong_shape_is_named_with_both_shapes(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.update({Q: torch.ones(64, 32)}))
    with pytest.raises(WeightsError, match=rf"{Q} has shape \[64, 32\], but the model needs \[64, 64\]"):
        load(folder)


def test_tensor_that_would_broadcast_is_refused(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.update({Q: torch.ones(1, 64)}))
    with pytest.raises(WeightsError, match="has shape"):
        load(folder)


def test_quantized_tensors_are_refused(folder: Path) -> None:
    edit(folder, lambda tensors: tensors.update({Q: torch.ones(64, 64, dtype=torch.int8)}))
    with pytest.raises(WeightsError, match=f"{Q} is .*int8; quantized"):
        load(folder)


def test_biases_must_agree_with_the_flag(tmp_path: Path) -> None:
    biased = configure(make_tiny_model(tmp_path / "biased", bias=True), attention_bias=False)
    with pytest.raises(WeightsError, match=r"unknown: model\.layers\.0\.self_attn\.k_proj\.bias"):
        load(biased)
    plain = configure(make_tiny_model(tmp_path / "plain"), attention_bias=True)
    with pytest.raises(WeightsError, match=r"missing: model\.layers\.0\.self_attn\.k_proj\.bias"):
        load(plain)


def test_long_list_of_names_is_truncated_with_a_count(tmp_path: Path) -> None:
    folder = configure(make_tiny_model(tmp_path), num_hidden_layers=5)
    with pytest.raises(WeightsError, match="and 7 more"):
        load(folder)


def test_rotary_tables_in_a_checkpoint_are_ignored(folder: Path) -> None:
    before = logits(load(folder))
    edit(folder, lambda tensors: tensors.update({"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(8)}))
    assert torch.equal(logits(load(folder)), before)


def test_second_copy_of_a_tied_head_is_ignored(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, tied=True)
    before = logits(load(folder))
    edit(folder, lambda tensors: tensors.update({"lm_head.weight": torch.ones(259, 64)}))
    assert torch.equal(logits(load(folder)), before)


def test_weights_without_a_head_load_the_same_model(tmp_path: Path) -> None:
    """Load the names under which models for embeddings are published."""
    expected = logits(load(make_tiny_model(tmp_path / "chat", tied=True)))
    folder = make_tiny_model(tmp_path / "embedding", tied=True)
    tensors = {name.removeprefix("model."): each for name, each in load_file(folder / "model.safetensors").items()}
    save_file(tensors, folder / "model.safetensors")
    assert torch.equal(logits(load(folder)), expected)


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        ({"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False}, "last"),
        ({"pooling_mode_mean_tokens": True, "include_prompt": True}, "mean"),
        ({"pooling_mode_cls_token": True}, "first"),
        ({}, None),
    ],
)
def test_folder_names_its_pooling(folder: Path, config: dict[str, bool], pooling: str | None) -> None:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    assert ModelFolder(folder).pooling() == pooling


def test_unsupported_pooling_is_refused_naming_the_setting(folder: Path) -> None:
    assert ModelFolder(folder).pooling() is None
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(UnsupportedModelError, match=r"pooling_mode_max_tokens.*--pooling"):
        ModelFolder(folder).pooling()


def test_module_that_changes_embeddings_is_refused(folder: Path) -> None:
    known = [{"type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling", "Normalize")]
    (folder / "modules.json").write_text(json.dumps(known))
    assert ModelFolder(folder).pooling() is None
    (folder / "modules.json").write_text(json.dumps([*known, {"type": "sentence_transformers.models.Dense"}]))
    with pytest.raises(UnsupportedModelError, match="module Dense"):
        ModelFolder(folder).pooling()


def test_sharded_weights_load_the_same_model_as_one_file(folder: Path) -> None:
    before = logits(load(folder))
    tensors = load_file(folder / "model.safetensors")
    names = sorted(tensors)
    (folder / "model.safetensors").unlink()
    for index, part in enumerate((names[:7], names[7:]), start=1):
        save_file({name: tensors[name] for name in part}, folder / f"model-{index:05}-of-00002.safetensors")
    assert torch.equal(logits(load(folder)), before)


def test_tensor_in_two_shards_is_named(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "first.safetensors")
    save_file({Q: torch.ones(64, 64)}, folder / "second.safetensors")
    with pytest.raises(WeightsError, match=rf"{Q} occurs a second time in second\.safetensors"):
        load(folder)


def indexed(folder: Path) -> Path:
    """Divide the weights of `folder` among two shards with an index."""
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    files = {name: f"model-{1 + index % 2:05}-of-00002.safetensors" for index, name in enumerate(sorted(tensors))}
    for file in set(files.values()):
        save_file({name: tensors[name] for name in tensors if files[name] == file}, folder / file)
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": files}))
    return folder


@pytest.mark.parametrize("stray", ["consolidated.safetensors", "model.safetensors", "model-00003.safetensors"])
def test_only_files_of_the_index_count(folder: Path, stray: str) -> None:
    expected, fingerprint = logits(load(folder)), model_fingerprint(indexed(folder))
    save_file({"layers.0.attention.wq.weight": torch.ones(1), Q: torch.ones(64, 64)}, folder / stray)
    assert torch.equal(logits(load(folder)), expected)
    assert model_fingerprint(folder) == fingerprint
    plain = load_network(ModelFolder(folder), torch.float32, torch.device("cpu"))
    torch.testing.assert_close(logits(plain), expected, rtol=1e-4, atol=1e-4)


def test_other_files_than_a_single_one_do_not_count(folder: Path) -> None:
    expected = logits(load(folder))
    save_file({"layers.0.attention.wq.weight": torch.ones(1)}, folder / "consolidated.safetensors")
    assert torch.equal(logits(load(folder)), expected)


def test_transformers_loads_files_with_a_byte_order_mark(folder: Path) -> None:
    expected = logits(load(folder))
    for file in folder.glob("*.json"):
        file.write_text(file.read_text(), encoding="utf-8-sig")
    found = logits(load_network(ModelFolder(folder), torch.float32, torch.device("cpu")))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_link", [False, True])
def test_missing_shards_are_named(folder: Path, is_link: bool) -> None:
    missing = indexed(folder) / "model-00002-of-00002.safetensors"
    missing.unlink()
    if is_link:
        missing.symlink_to(folder / "blobs" / "gone")
    with pytest.raises(ModelNotFoundError, match=r"incomplete: model-00002-of-00002\.safetensors of its weights"):
        load(folder)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"weight_map": {"a": "../b.safetensors"}}', '{"weight_map": {"a": 1}}']
)
def test_unusable_index_is_refused_by_name(folder: Path, text: str) -> None:
    (folder / INDEX).write_text(text)
    with pytest.raises(WeightsError, match=r"model\.safetensors\.index\.json"):
        load(folder)


@pytest.mark.parametrize("kept", [0, 5, 1000, -100])
def test_truncated_file_is_refused(folder: Path, kept: int) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(WeightsError, match=r"model\.safetensors cannot be read and may be truncated"):
        load(folder)


def test_folder_without_weights_or_configuration_is_refused(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"no \.safetensors file"):
        load(folder)
    (folder / "config.json").unlink()
    with pytest.raises(ModelNotFoundError, match=r"no config\.json"):
        load(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"architectures": ["MambaForCausalLM"]}, "MambaForCausalLM.*LlamaForCausalLM, Ministral3ForCausalLM"),
        ({"architectures": None}, "architecture None"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"mlp_bias": True}, "mlp_bias"),
        ({"quantization_config": {"bits": 4}}, "quantization_config"),
        ({"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "'dynamic'"),
        ({"rope_scaling": "yarn"}, "rope_scaling, but has 'yarn'"),
        ({"rope_parameters": {"full_attention": {"rope_theta": 1e6}}}, "for each kind of layer"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 2.0}}, "low_freq_factor"),
        ({"num_key_value_heads": 3}, "4 attention heads cannot share 3"),
        ({"head_dim": 7}, "head_dim 7 is odd"),
        ({"hidden_size": "64"}, "hidden_size, but has '64'"),
        ({"num_hidden_layers": 0}, "num_hidden_layers, but has 0"),
        ({"architectures": ["PanguEmbeddedForCausalLM"], "model_type": None, "vocab_size": None}, "has None"),
        ({"model_type": "qwen2"}, "a model_type 'qwen2' is not of the architecture 'LlamaForCausalLM'"),
        ({"rms_norm_eps": 0}, "rms_norm_eps"),
    ],
)
def test_unsupported_configuration_is_refused_naming_the_key(
    folder: Path, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(UnsupportedModelError, match=words):
        read_config(ModelFolder(configure(folder, **changes)).config())
