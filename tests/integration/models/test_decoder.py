"""The decoder compared with transformers, on the real model and on tiny random ones with features that it lacks."""

import json
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from models.chat.format import ChatFormat, Message
from models.interface.causal_lm import CausalLM
from models.interface.dense_context import DenseContext
from models.registry import load_model
from models.tokenizers.tokenizer import Tokenizer
from tests.sizes import Size
from tests.tiny_models import make_tiny_model

CPU = torch.device("cpu")

QUESTIONS = [
    "What is the capital of France?",
    "Write one sentence about the sea.",
    "How many legs does a spider have?",
    "Translate 'good morning' into Spanish.",
    "Name three primary colours.",
    "What is 17 + 25?",
    "Explain gravity to a child.",
    "Who wrote Romeo and Juliet?",
    "Give me a Python function that reverses a list.",
    "What does HTTP stand for?",
    "List the days of the week.",
    "Why is the sky blue?",
    "Tell me a joke about cats.",
    "What is the boiling point of water in °C?",
    "Complete: Roses are red, violets are",
    "Is the number 91 prime?",
    "Summarise: The quick brown fox jumps over the lazy dog.",
    "Wie heißt die Hauptstadt von Österreich?",
    "请用中文说你好。",
    "x = [1, 2, 3]\nprint(x[-1])\nWhat is printed?",
]


def all_logits(model: CausalLM, ids: list[int]) -> torch.Tensor:
    hidden = model.forward(torch.tensor(ids), torch.arange(len(ids)), DenseContext(model.attention))
    return model.compute_logits(hidden)


@torch.inference_mode()
def their_logits(model: LlamaForCausalLM, ids: list[int]) -> torch.Tensor:
    logits: torch.Tensor = model(torch.tensor([ids])).logits[0].float()
    return logits


@pytest.fixture(scope="module")
def prompts(model_path: Path) -> list[list[int]]:
    tokenizer = Tokenizer.load(model_path)
    chat = ChatFormat.load(model_path, tokenizer)
    return [chat.render([Message("user", question)]) for question in QUESTIONS]


@pytest.fixture(scope="module")
def theirs(model_path: Path) -> LlamaForCausalLM:
    return LlamaForCausalLM.from_pretrained(model_path, dtype=torch.float32)


@pytest.fixture(scope="module")
def ours(model_path: Path) -> CausalLM:
    return load_model(model_path, torch.float32, CPU)


def test_float32_logits_match_transformers(
    ours: CausalLM, theirs: LlamaForCausalLM, prompts: list[list[int]], size: Size
) -> None:
    for ids in prompts[: size.pick(small=1, full=4)]:
        torch.testing.assert_close(all_logits(ours, ids), their_logits(theirs, ids), rtol=1e-4, atol=1e-3)


def test_float32_greedy_tokens_equal_those_of_transformers(
    ours: CausalLM, theirs: LlamaForCausalLM, prompts: list[list[int]], size: Size
) -> None:
    assert len(prompts) == 20
    prompts = prompts[:: size.pick(small=10, full=1)]
    longest = max(map(len, prompts))
    padded = torch.tensor([[2] * (longest - len(ids)) + ids for ids in prompts])
    mask = torch.tensor([[0] * (longest - len(ids)) + [1] * len(ids) for ids in prompts])
    generate = cast("Any", theirs).generate  # the stub requires a protocol that transformers' own models do not satisfy
    batch = generate(padded, attention_mask=mask, do_sample=False, max_new_tokens=size.pick(small=8, full=24))
    for ids, row in zip(prompts, batch[:, longest:].tolist(), strict=True):
        answer = row[: row.index(2) + 1] if 2 in row else row
        # By induction, if each of their tokens has the highest logit, our greedy decoding generates the same tokens.
        assert all_logits(ours, ids + answer[:-1])[len(ids) - 1 :].argmax(-1).tolist() == answer


def test_bfloat16_logits_are_as_accurate_as_transformers(
    shallow_model: Path, prompts: list[list[int]], size: Size
) -> None:
    ours = load_model(shallow_model, torch.bfloat16, CPU)
    theirs = LlamaForCausalLM.from_pretrained(shallow_model, dtype=torch.float32)
    rounded = LlamaForCausalLM.from_pretrained(shallow_model, dtype=torch.bfloat16)
    for ids in prompts[: size.pick(small=2, full=4)]:
        exact = their_logits(theirs, ids).log_softmax(-1)
        our_error = (all_logits(ours, ids).log_softmax(-1) - exact).abs()
        their_error = (their_logits(rounded, ids).log_softmax(-1) - exact).abs()
        assert our_error.mean() <= 1.2 * their_error.mean()
        assert our_error.max() <= 2 * their_error.max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_logits_are_float32_for_any_weight_dtype(tmp_path: Path, dtype: torch.dtype) -> None:
    model = load_model(make_tiny_model(tmp_path), dtype, CPU)
    assert model.dtype == dtype
    assert all_logits(model, [5, 6, 7]).dtype == torch.float32


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("tied", [False, True])
def test_pangu_with_biases_equals_llama_with_attention_bias(tmp_path: Path, kv_heads: int, tied: bool) -> None:
    folder = make_tiny_model(
        tmp_path, architecture="PanguEmbeddedForCausalLM", bias=True, kv_heads=kv_heads, tied=tied, seed=3
    )
    raw = json.loads((folder / "config.json").read_text())
    assert raw.pop("bias") is True
    config = LlamaConfig(**raw | {"model_type": "llama", "attention_bias": True})
    theirs = LlamaForCausalLM.from_pretrained(folder, config=config, dtype=torch.float32)
    ours = load_model(folder, torch.float32, CPU)
    ids = torch.randint(0, 259, (50,), generator=torch.Generator().manual_seed(1)).tolist()
    torch.testing.assert_close(all_logits(ours, ids), their_logits(theirs, ids), rtol=1e-5, atol=1e-5)


def test_openpangu_has_biases_if_the_config_omits_the_flag(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, architecture="PanguEmbeddedForCausalLM", bias=True)
    before = all_logits(load_model(folder, torch.float32, CPU), [5, 6, 7])
    raw = json.loads((folder / "config.json").read_text())
    del raw["bias"]
    (folder / "config.json").write_text(json.dumps(raw))
    assert torch.equal(all_logits(load_model(folder, torch.float32, CPU), [5, 6, 7]), before)


def test_llama_3_rope_scaling_matches_transformers(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path)
    raw = json.loads((folder / "config.json").read_text())
    del raw["rope_theta"]
    raw["rope_parameters"] = {
        "rope_type": "llama3",
        "rope_theta": 500.0,
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64,
    }
    (folder / "config.json").write_text(json.dumps(raw))
    theirs = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.randint(0, 259, (200,), generator=torch.Generator().manual_seed(1)).tolist()
    ours = all_logits(load_model(folder, torch.float32, CPU), ids)
    torch.testing.assert_close(ours, their_logits(theirs, ids), rtol=1e-4, atol=1e-4)


def test_row_does_not_depend_on_later_rows(tmp_path: Path) -> None:
    model = load_model(make_tiny_model(tmp_path), torch.float32, CPU)
    ids = list(range(10, 40))
    torch.testing.assert_close(all_logits(model, ids[:20]), all_logits(model, ids)[:20], rtol=1e-5, atol=1e-5)
