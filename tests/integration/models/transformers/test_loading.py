"""Model folders that transformers computes: loading, refusals, and rows that depend on nothing but their sequence."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Gemma3Config, Gemma3ForConditionalGeneration, PreTrainedModel

from engine.worker.worker import Worker
from models.errors import ModelNotFoundError, UnsupportedModelError, WeightsError
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.registry import load_model, summarize
from models.transformers.model import TransformersForCausalLM, load_network
from models.transformers.self_check import check_network
from models.weights.folder import ModelFolder
from tests.integration.worker_driver import engine_config
from tests.tiny_architectures import POSITIONS, WINDOW, tiny_config, tiny_network

CPU = torch.device("cpu")
IDS = torch.arange(40) + 3


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tiny_network(tiny_config("cohere2")), tmp_path / "model")


def saved(network: PreTrainedModel, folder: Path, shard_size: str = "1GB") -> Path:
    network.save_pretrained(folder, max_shard_size=shard_size)
    return folder


def configured(folder: Path, **changes: object) -> Path:
    """Write values to config.json. None removes a key."""
    file = folder / "config.json"
    raw = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in raw.items() if value is not None}))
    return folder


def longrope(model_type: str, **changes: object) -> PreTrainedModel:
    """Make a network whose rotary frequencies change at a quarter of its positions."""
    original = POSITIONS // 4
    rope = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "original_max_position_embeddings": original,
        "short_factor": [1.0 + 0.1 * i for i in range(8)],
        "long_factor": [2.0 + i for i in range(8)],
    }
    config = tiny_config(model_type, rope_parameters=rope | changes, original_max_position_embeddings=original)
    return tiny_network(config)


def logits(model: CausalLM, ids: torch.Tensor = IDS) -> torch.Tensor:
    hidden = model.forward(ids, torch.arange(len(ids)), DenseContext(model.attention))
    return model.compute_logits(hidden)


@torch.inference_mode()
def their_logits(network: PreTrainedModel, ids: torch.Tensor = IDS) -> torch.Tensor:
    found: torch.Tensor = network(input_ids=ids[None], use_cache=False).logits[0].float()
    return found


@pytest.mark.parametrize("shard_size", ["1GB", "50KB"])
@pytest.mark.parametrize("tied", [False, True])
def test_saved_folder_has_the_networks_logits(tmp_path: Path, shard_size: str, tied: bool) -> None:
    network = tiny_network(tiny_config("cohere2", tie_word_embeddings=tied))
    folder = saved(network, tmp_path, shard_size)
    assert (len(list(folder.glob("*.safetensors"))) > 1) == (shard_size == "50KB")
    torch.testing.assert_close(logits(load_model(folder, torch.float32, CPU)), their_logits(network))


def test_text_part_of_a_folder_with_images_is_loaded(tmp_path: Path) -> None:
    vision = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = Gemma3Config(
        text_config=tiny_config("gemma3_text").to_dict(),
        vision_config=vision | {"image_size": 28, "patch_size": 14},
        mm_tokens_per_image=4,
        image_token_index=100,
    )
    torch.manual_seed(0)
    network = Gemma3ForConditionalGeneration(config).eval()
    folder = saved(network, tmp_path)
    for loaded in (load_model(folder, torch.float32, CPU), load_network(ModelFolder(folder), torch.float32, CPU)):
        torch.testing.assert_close(logits(loaded), their_logits(network))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_are_float32_for_any_weight_dtype(folder: Path, dtype: torch.dtype) -> None:
    model = load_model(folder, dtype, CPU)
    assert model.dtype == dtype
    assert logits(model).dtype == torch.float32


def test_summary_without_weights_equals_the_loaded_model(folder: Path) -> None:
    model = load_model(folder, torch.float32, CPU)
    for file in folder.glob("*.safetensors"):
        file.unlink()
    summary = summarize(folder, torch.float32, "cpu")
    assert summary.attention == model.attention
    assert [call.window for call in summary.attention] == [WINDOW, WINDOW, WINDOW, 0]
    assert summary.max_position_embeddings == POSITIONS
    assert summary.code == model.kernels
    with pytest.raises(ModelNotFoundError, match="safetensors"):
        load_model(folder, torch.float32, CPU)


def test_chunks_are_in_the_summary_without_weights(tmp_path: Path) -> None:
    tiny_config("llama4_text").save_pretrained(tmp_path)
    assert [call.chunk for call in summarize(tmp_path, torch.float32, "cpu").attention] == [WINDOW, WINDOW, WINDOW, 0]


def test_configuration_that_the_shared_decoder_refuses_is_served(tmp_path: Path) -> None:
    network = tiny_network(tiny_config("llama", mlp_bias=True))
    folder = saved(network, tmp_path)
    assert "mlp_bias" in summarize(folder, torch.float32, "cpu").refusal
    torch.testing.assert_close(logits(load_model(folder, torch.float32, CPU)), their_logits(network))


def test_missing_tensor_is_named(folder: Path) -> None:
    (file,) = folder.glob("*.safetensors")
    tensors = load_file(file)
    del tensors["model.layers.1.self_attn.q_proj.weight"]
    save_file(tensors, file, metadata={"format": "pt"})
    with pytest.raises(WeightsError, match=r"model\.layers\.1\.self_attn\.q_proj\.weight"):
        load_model(folder, torch.float32, CPU)


def test_code_of_a_model_folder_is_never_executed(folder: Path) -> None:
    (folder / "modeling.py").write_text("raise SystemExit('executed')")
    configured(folder, model_type="unheard_of", auto_map={"AutoModelForCausalLM": "modeling.Network"})
    with pytest.raises(UnsupportedModelError, match="never executed"):
        load_model(folder, torch.float32, CPU)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "unheard_of"}, "'unheard_of' is not known to transformers"),
        ({"model_type": None}, "model_type None"),
        ({"model_type": "t5"}, "no causal language model for model_type 't5'"),
        ({"model_type": "bart"}, "encoder-decoder"),
        ({"model_type": "bloom"}, "max_position_embeddings"),
        ({"model_type": "xglm"}, "XGLM"),
        ({"model_type": "falcon"}, "0 attention calls"),
        ({"model_type": "mpt"}, "max_position_embeddings"),
        ({"model_type": "gptj"}, "GPTJ"),
        (
            {"model_type": "qwen3", "num_attention_heads": 4, "num_key_value_heads": 8},
            "4 attention heads cannot share 8",
        ),
        ({"model_type": "minimax"}, "linear attention"),
        ({"model_type": "mamba"}, "recurrent state|max_position_embeddings"),
        ({"model_type": "kimi_linear"}, "recurrent state"),
        ({"model_type": "jamba"}, "recurrent state"),
        ({"model_type": "falcon_h1"}, "recurrent state"),
        ({"model_type": "zamba2"}, "recurrent state"),
        ({"model_type": "nemotron_h"}, "recurrent state"),
        ({"model_type": "qwen3_next"}, "recurrent state"),
        ({"model_type": "qwen3_5_text"}, "recurrent state"),
        ({"model_type": "lfm2", "num_hidden_layers": 2, "layer_types": ["conv", "full_attention"]}, "type conv"),
        *(({"model_type": name}, "indexer") for name in ("deepseek_v32", "deepseek_v4", "glm_moe_dsa")),
    ],
)
def test_network_that_cannot_be_served_is_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({key: value for key, value in changes.items() if value}))
    with pytest.raises(UnsupportedModelError, match=words):
        summarize(tmp_path, torch.float32, "cpu")


def test_longest_position_of_a_batch_changes_no_other_row() -> None:
    network = longrope("phi3")
    model = TransformersForCausalLM(network)
    assert model.kernels.endswith("longrope-long")
    check_network(model, network)


def test_short_window_selects_the_short_frequencies_of_longrope() -> None:
    network = longrope("phi3")
    expected = their_logits(network)
    assert len(IDS) <= POSITIONS // 4
    model = TransformersForCausalLM(network, window=POSITIONS // 4)
    assert model.kernels.endswith("longrope-short")
    torch.testing.assert_close(logits(model), expected)


@pytest.mark.parametrize("changes", [{}, {"mlp_bias": True}], ids=["shared decoder", "transformers"])
def test_window_of_the_settings_selects_the_frequencies(tmp_path: Path, changes: dict[str, object]) -> None:
    config = engine_config(configured(saved(longrope("phi3"), tmp_path), **changes))
    for window, kind in ((0, "long"), (POSITIONS // 4, "short")):
        worker = Worker(config.with_fields(max_model_len=window))
        worker.load()
        assert f"longrope-{kind}" in worker.numerics_id()
        assert ("transformers" in worker.numerics_id()) == bool(changes)
        worker.close()


def test_longrope_that_cannot_be_fixed_is_refused(tmp_path: Path) -> None:
    folder = saved(longrope("phimoe", short_mscale=1.1, long_mscale=1.3), tmp_path)
    with pytest.raises(UnsupportedModelError, match="PhimoeForCausalLM of transformers cannot be probed"):
        load_model(folder, torch.float32, CPU)


def test_loaded_network_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = saved(tiny_network(tiny_config("llama4_text", floor_scale=4)), tmp_path)
    load_model(folder, torch.float32, CPU)
    monkeypatch.setattr("models.transformers.model.FROM_CACHE", frozenset())
    with pytest.raises(UnsupportedModelError, match=r"the self-check failed.*the second chunk"):
        load_model(folder, torch.float32, CPU)


def test_row_that_depends_on_its_place_fails_the_self_check() -> None:
    network = tiny_network(tiny_config("llama"))
    network.get_input_embeddings().register_forward_hook(
        lambda _module, _inputs, output: output + torch.arange(output.shape[1])[:, None] / 10
    )
    with pytest.raises(UnsupportedModelError, match="the second chunk of a prompt"):
        check_network(TransformersForCausalLM(network), network)


def test_several_models_in_one_process_keep_their_calls_apart() -> None:
    networks = [tiny_network(tiny_config(name)) for name in ("gemma2", "gpt_oss")]
    expected = [their_logits(network) for network in networks]
    models = [TransformersForCausalLM(network) for network in networks]
    for _ in range(2):
        for model, theirs in zip(models, expected, strict=True):
            torch.testing.assert_close(logits(model), theirs)
