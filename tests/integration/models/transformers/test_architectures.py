"""Families that differ in what they ask of attention. `tests/sweep` has all other architectures."""

import pytest
import torch

from models.errors import UnsupportedModelError
from models.interface.attention_call import AttentionCall
from models.transformers.model import TransformersForCausalLM
from tests.tiny_architectures import WINDOW, tiny_config, tiny_network
from tests.transformers_agreement import assert_equals_transformers_alone


def calls_of(model_type: str) -> tuple[AttentionCall, ...]:
    return TransformersForCausalLM(tiny_network(tiny_config(model_type))).attention


@pytest.mark.parametrize(
    "model_type",
    [
        "llama",
        "qwen3",
        "gemma2",
        "gemma3_text",
        "gpt_oss",
        "llama4_text",
        "deepseek_v3",
        "diffllama",
        "phi3",
        "gpt2",
    ],
)
@pytest.mark.parametrize("backend", ["reference", "torch"])
def test_paged_mixed_batches_equal_transformers_alone(model_type: str, backend: str) -> None:
    assert_equals_transformers_alone(tiny_network(tiny_config(model_type)), backend)


def test_window_softcap_and_scale_of_gemma_2_are_read() -> None:
    local, full = calls_of("gemma2")[:2]
    assert (local.window, full.window) == (WINDOW, 0)
    assert (local.softcap, local.scale) == (5.0, 20**-0.5)


def test_chunks_of_llama_4_are_read_from_its_masks() -> None:
    assert [call.chunk for call in calls_of("llama4_text")] == [WINDOW, WINDOW, WINDOW, 0]


def test_sinks_of_gpt_oss_are_read() -> None:
    assert all(call.sinks for call in calls_of("gpt_oss"))


def test_widths_of_k_and_v_are_read_from_each_call() -> None:
    call = calls_of("deepseek_v3")[0]
    assert (call.k_dim, call.v_dim) == (24, 16)
    assert [call.k_dim for call in calls_of("gemma4_text")] == [16, 512, 16, 512]


def test_module_that_attends_twice_has_two_calls() -> None:
    assert len(calls_of("diffllama")) == 8


@pytest.mark.parametrize("model_type", ["xglm", "falcon"])
def test_attention_outside_the_interface_is_refused(model_type: str) -> None:
    with pytest.raises(UnsupportedModelError, match="0 attention calls"):
        calls_of(model_type)


def test_argument_that_is_not_read_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="depends on indices"):
        calls_of("hy_v4")


def test_mask_that_a_network_changes_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="does not take its mask"):
        calls_of("doge")


def test_attention_to_later_positions_is_refused() -> None:
    with pytest.raises(UnsupportedModelError, match="not causal"):
        calls_of("bert")


def test_final_softcap_and_scaling_are_in_the_logits() -> None:
    network = tiny_network(tiny_config("gemma2"))
    model = TransformersForCausalLM(network)
    hidden = 100 * torch.randn(3, 64)
    assert model.compute_logits(hidden).abs().max() <= 6.0
