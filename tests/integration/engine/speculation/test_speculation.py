"""Speculation on real engines with right and wrong drafts: tokens, logits and blocks are the same as without."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from cache_tiers.config import TierConfig
from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.config import CacheConfig, EngineConfig, ModelConfig
from engine.llm import LLM
from engine.request.request import Request
from engine.speculation.draft_cost import DraftCost
from engine.speculation.guess import Guess
from engine.wiring import build
from engine.worker import worker
from tests.conftest import default_cache_dir
from tests.integration.logits_recorder import Answer, LogitsRecorder, ask_together
from tests.leaks import assert_no_leaks
from tests.many_models import combinations
from tests.sizes import MANY_PROCESSES
from tests.tiny_models import make_tiny_model

MIB = 1 << 20
BLOCK_NBYTES = 2 * 2 * 64 * 64 * 2
COUNT = 60
PROMPTS = [[5 + (number * 31 + at * 7) % 200 for at in range(40 + 50 * number)] for number in range(4)]
WAYS = {
    "greedy": SamplingParams(temperature=0.0),
    "drawn": SamplingParams(seed=11),
    "few": SamplingParams(seed=12, temperature=0.7, top_k=20, top_p=0.9, min_p=0.01),
    "biases": SamplingParams(seed=13, logit_bias=((70, 3.0), (80, 3.5))),
    "least length": SamplingParams(seed=14, min_tokens=30, stop_token_ids=tuple(range(60, 68))),
    "penalties": SamplingParams(seed=15, repetition_penalty=1.2),
}


@dataclass
class Remembered:
    """Proposer that knows the answers, and gets every fourth position wrong."""

    texts: Sequence[Sequence[int]]

    def propose(self, request: Request, behind: int, most: int) -> Guess:
        known = request.token_ids(0, request.num_tokens)
        for text in self.texts:
            if tuple(text[: len(known)]) == known:
                first = len(known) + behind
                told = [token if at % 4 else 5 for at, token in enumerate(text[first : first + most], first)]
                return Guess(told, 0.9, "prompt")
        return Guess((), 0.9, "prompt")


def make_drafts_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Zero draft costs, so that every possible draft is proposed regardless of step times."""
    for cost in ("draft_seconds", "row_seconds", "wait_seconds", "model_seconds"):
        monkeypatch.setattr(DraftCost, cost, lambda *_: 0.0)


@pytest.fixture(autouse=True)
def free_drafts(monkeypatch: pytest.MonkeyPatch) -> None:
    make_drafts_free(monkeypatch)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("speculation") / "model", hidden=128, heads=2, kv_heads=1)


def config_of(model: Path, tmp_path: Path, *, blocks: int = 40, **more: Any) -> EngineConfig:
    tiers = TierConfig(16 * MIB, "off", 0, tmp_path)
    config = EngineConfig(
        model=ModelConfig(path=model, name="tiny"),
        cache=CacheConfig(tiers=tiers, secret=b"a secret of the tests", kv_memory=blocks * BLOCK_NBYTES),
    )
    return config.with_fields(cache_dir=default_cache_dir(), **more)


def answers(llm: LLM, ways: Sequence[SamplingParams]) -> list[tuple[int, ...]]:
    """Answer all prompts with all settings at once. Where possible, schedule each step before its predecessor ends."""
    asked = [
        llm.engine.add_request(
            GenerateRequest(prompt_token_ids=prompt, params=replace(params, max_tokens=COUNT, ignore_eos=True))
        )
        for prompt in PROMPTS
        for params in ways
    ]
    core, step = llm.engine.core, None
    while llm.engine.has_unfinished_requests() or not core.is_quiet:
        step = step or core.begin_step()
        if step is not None:
            following = None if step.output.is_awaited else core.begin_step()
            llm.engine.finish_step(step)
            step = following
    assert_no_leaks(llm.engine)
    return [tuple(request.output_token_ids) for request in asked]


def texts(answers: Sequence[Sequence[int]], num_ways: int) -> list[list[int]]:
    return [[*PROMPTS[index // num_ways], *answer] for index, answer in enumerate(answers)]


@pytest.mark.parametrize(("kernels", "blocks"), combinations(["auto", "torch"], [60, 9]))
def test_tokens_are_the_same_with_and_without_drafts(
    kernels: str, blocks: int, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cover preemption for lack of blocks, and chunks of prompts alongside decoding streams."""
    dtype = "float32" if kernels == "torch" else "bfloat16"
    more: dict[str, Any] = {"cpu_kernels": kernels, "dtype": dtype, "max_num_batched_tokens": 96}
    blocks *= 2 if dtype == "float32" else 1
    ways = list(WAYS.values())
    with LLM(config_of(model, tmp_path, blocks=blocks, prompt_lookup=False, **more)) as llm:
        plain = answers(llm, ways)
        assert llm.engine.stats().tokens.drafted.total() == 0
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered(texts(plain, len(ways))))
    with LLM(config_of(model, tmp_path, blocks=blocks, **more)) as llm:
        assert answers(llm, ways) == plain
        stats = llm.engine.stats()
        assert (stats.requests.preemptions > 0) == (blocks < 40)
    drafted, accepted = stats.tokens.drafted.total(), stats.tokens.accepted.total()
    assert drafted - accepted > 20
    assert accepted > 200


def test_drafts_leave_logits_and_blocks_unchanged(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = LogitsRecorder()
    monkeypatch.setattr(worker, "NativeRunner", recorder.runner)
    config = config_of(model, tmp_path)

    def ask(config: EngineConfig) -> tuple[list[Answer], list[Answer]]:
        with LLM(config) as llm:
            first = ask_together(llm, recorder, PROMPTS, COUNT)
            longer = [[*prompt, *answer.token_ids, 9] for prompt, answer in zip(PROMPTS, first, strict=True)]
            return first, ask_together(llm, recorder, longer, 4)

    plain, behind_plain = ask(config.with_fields(prompt_lookup=False))
    told = [answer.token_ids for answer in plain]
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered(texts(told, 1)))
    drafted, behind_drafted = ask(config)
    assert [answer.logits for answer in drafted] == [answer.logits for answer in plain]
    # The KV of the answers is found complete, and logits computed from that KV are bitwise equal.
    assert [answer.logits for answer in behind_drafted] == [answer.logits for answer in behind_plain]
    assert [answer.kv.cached for answer in behind_drafted] == [answer.kv.cached for answer in behind_plain]
    assert all(answer.kv.cached > len(prompt) for answer, prompt in zip(behind_drafted, PROMPTS, strict=True))


@MANY_PROCESSES
def test_ranks_agree_on_accepted_tokens(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = make_tiny_model(tmp_path / "model", seed=3)
    ways = [WAYS["greedy"], WAYS["few"]]
    more: dict[str, Any] = {"dtype": "float32", "cpu_kernels": "torch"}
    with LLM(config_of(tiny, tmp_path, prompt_lookup=False, **more)) as llm:
        plain = answers(llm, ways)
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered(texts(plain, len(ways))))
    with LLM(config_of(tiny, tmp_path, tensor_parallel_size=2, **more)) as llm:
        assert answers(llm, ways) == plain
        tokens = llm.engine.stats().tokens
        assert 50 < tokens.accepted.total() < tokens.drafted.total()


def test_stop_string_inside_a_draft_ends_the_answer(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    params = SamplingParams(seed=2, max_tokens=COUNT, ignore_eos=True)
    with LLM(config_of(model, tmp_path, prompt_lookup=False)) as llm:
        whole = llm.generate([PROMPTS[0]], params)[0].outputs[0]
        stop = whole.text[20:23]
        plain = llm.generate([PROMPTS[0]], replace(params, stop=(stop,)))[0].outputs[0]
    assert 0 < len(plain.text) < len(whole.text)
    monkeypatch.setattr(build, "PromptLookup", lambda: Remembered([[*PROMPTS[0], *whole.token_ids]]))
    with LLM(config_of(model, tmp_path)) as llm:
        drafted = llm.generate([PROMPTS[0]], replace(params, stop=(stop,)))[0].outputs[0]
        assert llm.engine.stats().tokens.accepted.total() > 0
    assert (drafted.text, drafted.token_ids, drafted.finish_reason) == (plain.text, plain.token_ids, "stop")


def test_repetitive_text_is_drafted_from_itself(model: Path, tmp_path: Path) -> None:
    """Allow a single token, so that the model repeats the same letter."""
    params = SamplingParams(temperature=0.0, max_tokens=COUNT, ignore_eos=True, allowed_token_ids=(70,))
    with LLM(config_of(model, tmp_path)) as llm:
        assert llm.generate([PROMPTS[0]], params)[0].outputs[0].token_ids == (70,) * COUNT
        assert llm.engine.stats().tokens.accepted.total() > COUNT // 2


def test_answers_that_repeat_earlier_ones_take_fewer_steps(model: Path, tmp_path: Path) -> None:
    """Another tenant gains nothing, and all texts are equal."""
    params = replace(WAYS["drawn"], max_tokens=COUNT, ignore_eos=True)

    def ask(llm: LLM, tenant: str) -> tuple[tuple[int, ...], int]:
        before = llm.engine.stats().tokens.accepted["phrase"]
        request = llm.engine.add_request(GenerateRequest(prompt_token_ids=PROMPTS[0], params=params, tenant=tenant))
        while llm.engine.has_unfinished_requests():
            llm.engine.step()
        return tuple(request.output_token_ids), llm.engine.stats().tokens.accepted["phrase"] - before

    with LLM(config_of(model, tmp_path)) as llm:
        first, later = ask(llm, "a"), [ask(llm, "a") for _ in range(4)]
        elsewhere = ask(llm, "b")
    assert {text for text, _ in (first, *later, elsewhere)} == {first[0]}
    assert later[-1][1] > COUNT * 3 / 4
    assert elsewhere[1] < COUNT / 4
