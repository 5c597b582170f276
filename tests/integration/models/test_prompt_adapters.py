"""Prompt adapters of the shared decoder, compared with transformers on random weights."""

from pathlib import Path

import pytest
import torch

from models.decoder.adapter_loading import load_adapter
from models.decoder.model import DecoderForCausalLM
from models.interface.causal_lm import AdaptedRows
from models.interface.dense_context import DenseContext
from models.registry import load_model
from tests.family_models import ONE_OF_EACH, save_family
from tests.many_models import representatives
from tests.tiny_prompts import PromptOracle, make_prompt

TOKENS = 12


@torch.inference_mode()
def our_logits(model: Path, adapter: Path, ids: list[int]) -> torch.Tensor:
    network = load_model(model, torch.float32, torch.device("cpu"))
    assert isinstance(network, DecoderForCausalLM)
    fitted = load_adapter(adapter, network.config, network.stage, torch.float32)
    network.add_adapter(fitted)
    inputs = torch.tensor([0] * TOKENS + ids)
    rows = AdaptedRows(fitted.about.digest, torch.arange(TOKENS))
    hidden = network.forward(inputs, torch.arange(len(inputs)), DenseContext(network.attention), [rows])
    return network.compute_logits(hidden)[TOKENS:]


@pytest.mark.parametrize("kind", ["PROMPT_TUNING", "PREFIX_TUNING"])
@pytest.mark.parametrize("name", representatives(("qwen3", "gemma3", "granite"), ONE_OF_EACH))
def test_logits_match_transformers(tmp_path: Path, name: str, kind: str) -> None:
    model = save_family(tmp_path / "model", name)
    adapter = make_prompt(tmp_path / "own", model, kind, tokens=TOKENS)
    ids = torch.randint(3, 250, (60,), generator=torch.Generator().manual_seed(2)).tolist()
    oracle = PromptOracle(model)
    expected = oracle.logits(ids, adapter)
    torch.testing.assert_close(our_logits(model, adapter, ids), expected, rtol=1e-4, atol=1e-4)
    assert (expected - oracle.logits(ids)).abs().max() > 0.1
