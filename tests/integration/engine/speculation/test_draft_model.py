"""A draft model on real engines: answers are those without it, and one equal to the model is always right."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.api.errors import EngineError
from engine.api.sampling_params import SamplingParams
from engine.config import EngineConfig
from engine.llm import LLM
from engine.worker.drafter import Drafter
from tests.integration.engine.speculation.test_speculation import (
    PROMPTS,
    WAYS,
    answers,
    config_of,
    make_drafts_free,
)
from tests.many_models import MARK, combinations
from tests.tiny_adapters import make_adapter
from tests.tiny_models import make_tiny_model

DRAFTABLE = [params for name, params in WAYS.items() if name != "penalties"]


@pytest.fixture(autouse=True)
def free_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    make_drafts_free(monkeypatch)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("drafted") / "model", hidden=128, heads=2, kv_heads=1)


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another model, whose blocks are as large."""
    return make_tiny_model(tmp_path_factory.mktemp("drafting") / "other", hidden=64, heads=1, kv_heads=1, seed=9)


def ask(config: EngineConfig, ways: Sequence[SamplingParams]) -> tuple[list[tuple[int, ...]], int, int, int]:
    """Return the answers, the tokens that the draft model drafted, those that stood, and the preemptions."""
    with LLM(config) as llm:
        found, stats = answers(llm, ways), llm.engine.stats()
    return found, stats.tokens.drafted["model"], stats.tokens.accepted["model"], stats.requests.preemptions


@pytest.mark.parametrize(("kernels", "blocks"), combinations(["auto", "torch"], [60, 9]))
def test_tokens_are_the_same_with_any_draft_model(
    kernels: str, blocks: int, model: Path, other: Path, tmp_path: Path
) -> None:
    """Cover preemption for lack of blocks, and prompts that a tier restores and the draft model has to read."""
    dtype = "float32" if kernels == "torch" else "bfloat16"
    more: dict[str, Any] = {"cpu_kernels": kernels, "dtype": dtype, "max_num_batched_tokens": 96}
    # Both models have a pool.
    config = config_of(model, tmp_path, blocks=2 * blocks * (2 if dtype == "float32" else 1), **more)
    ways = [WAYS["greedy"], WAYS["drawn"], WAYS["few"], WAYS["penalties"]]
    plain, *_ = ask(config.with_fields(prompt_lookup=False), ways)
    found, drafted, accepted, preemptions = ask(config.with_fields(draft_model=other), ways)
    assert found == plain
    assert drafted > 500 > 10 * accepted
    assert (preemptions > 0) == (blocks < 40)
    found, drafted, accepted, preemptions = ask(config.with_fields(draft_model=model), ways)
    assert found == plain
    assert drafted > 300
    # torch computes a row of a draft unlike that of a decode, so a close choice may differ.
    assert accepted == drafted if kernels == "auto" else accepted > 0.95 * drafted
    assert (preemptions > 0) == (blocks < 40)


@MARK
def test_quantized_copy_of_a_real_model_drafts_its_answers(model_path: Path, tmp_path: Path) -> None:
    config = config_of(model_path, tmp_path, blocks=1).with_fields(kv_memory=64 << 20)
    ways = [SamplingParams(temperature=0.0, max_tokens=24), SamplingParams(seed=1, max_tokens=24)]
    arms: dict[str, dict[str, Any]] = {"plain": {"prompt_lookup": False}, "drafted": {"draft_model": model_path}}
    found = {}
    for name, fields in arms.items():
        with LLM(config.with_fields(draft_quantization="int4", **fields)) as llm:
            answers = llm.chat([[{"role": "user", "content": "How do plants grow?"}]] * 2, ways)
            found[name] = [answer.outputs[0].token_ids for answer in answers]
            tokens = llm.engine.stats().tokens
    assert found["drafted"] == found["plain"]
    assert tokens.drafted["model"] > tokens.accepted["model"] > 10


def test_answers_of_an_adapter_are_drafted_by_a_plain_model(model: Path, tmp_path: Path) -> None:
    make_adapter(tmp_path / "adapters" / "poet", model, seed=1)
    config = config_of(model, tmp_path, blocks=80, adapters_dir=tmp_path / "adapters")
    params = SamplingParams(seed=3, max_tokens=40, ignore_eos=True)
    found = {}
    for draft_model in (None, model):
        with LLM(config.with_fields(draft_model=draft_model)) as llm:
            texts = [llm.generate(PROMPTS, params, adapter=name) for name in ("poet", "")]
            found[draft_model] = [answer.outputs[0].token_ids for each in texts for answer in each]
            stats = llm.engine.stats()
    assert found[model] == found[None]
    assert stats.tokens.accepted["model"] > 0


def test_draft_model_that_fails_is_not_asked_again(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    config = config_of(model, tmp_path, blocks=120, draft_model=model)
    plain, *_ = ask(config.with_fields(draft_model=None, prompt_lookup=False), DRAFTABLE)
    calls = []

    def fail(_drafter: Drafter, *args: object) -> None:
        calls.append(args)
        raise EngineError("out of memory")

    monkeypatch.setattr(Drafter, "draft", fail)
    found, drafted, _, _ = ask(config, DRAFTABLE)
    assert found == plain
    assert (len(calls), drafted) == (1, 0)
    assert "the draft model failed, so answers are computed without it" in caplog.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"prompt_lookup": False}, "--draft-model drafts nothing with --no-speculation"),
        ({"tensor_parallel_size": 2}, "--draft-model is not possible with --tensor-parallel-size"),
        ({"pipeline_parallel_size": 2}, "--draft-model is not possible with --tensor-parallel-size"),
        ({}, "--draft-model foreign has another vocabulary than tiny"),
    ],
)
def test_draft_model_that_cannot_serve_is_refused_at_the_start(
    fields: dict[str, Any], message: str, model: Path, tmp_path: Path
) -> None:
    draft = model
    if not fields:
        draft = make_tiny_model(tmp_path / "foreign")
        tokenizer = draft / "tokenizer.json"
        tokenizer.write_text(tokenizer.read_text().replace("<|im_start|>", "<|begin|>"))
    with pytest.raises(EngineError, match=message):
        LLM(config_of(model, tmp_path, draft_model=draft, **fields))


def test_same_random_number_draws_the_same_token(model: Path, tmp_path: Path) -> None:
    """Drafts that were greedy would often be wrong here."""
    hot = replace(WAYS["drawn"], temperature=2.0)
    _, drafted, accepted, _ = ask(config_of(model, tmp_path, blocks=120, draft_model=model), [hot])
    assert accepted == drafted > 100
