"""Prompt adapters in the whole engine: answers equal to those of transformers, shared KV, counts and refusals."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.api.errors import InvalidRequestError, PromptTooLongError
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from engine.sampling.sampler import Sampler, SamplingRow
from tests.conftest import default_cache_dir
from tests.family_models import save_family
from tests.integration.engine_rig import BLOCK, engine_config
from tests.tiny_adapters import make_adapter
from tests.tiny_prompts import KINDS, PromptOracle, make_prompt

PROMPT = [5 + at * 7 % 200 for at in range(150)]
VIRTUAL = {"PROMPT_TUNING": 20, "P_TUNING": 64, "PREFIX_TUNING": 70}
GREEDY = SamplingParams(temperature=0.0, max_tokens=12, ignore_eos=True)
SAMPLED = SamplingParams(temperature=1.0, top_p=0.9, seed=7, max_tokens=12, ignore_eos=True)
"""A temperature at which few answers are the greedy one."""
FLOAT32 = {"cpu_kernels": "torch", "dtype": "float32"}


def opened(model: Path, adapters: Path | None, **fields: Any) -> LLM:
    return LLM.open(
        str(model), default_cache_dir(), kv_memory=8 << 20, progress=lambda _: None, adapters_dir=adapters, **fields
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_family(tmp_path_factory.mktemp("prompted") / "model", "qwen3")


@pytest.fixture(scope="module")
def adapters(model: Path) -> Path:
    folder = model.parent / "adapters"
    for seed, kind in enumerate(KINDS):
        make_prompt(folder / kind, model, kind, tokens=VIRTUAL[kind], seed=seed)
    make_prompt(folder / "copy", model, "PREFIX_TUNING", tokens=VIRTUAL["PREFIX_TUNING"], seed=2)
    make_adapter(folder / "lora", model, seed=1)
    return folder


@pytest.fixture(params=["auto", "torch"])
def llm(request: pytest.FixtureRequest, model: Path, adapters: Path) -> Iterator[LLM]:
    with opened(model, adapters, cpu_kernels=request.param) as llm:
        yield llm


def ids_of(llm: LLM, adapter: str = "", prompt: list[int] = PROMPT, params: SamplingParams = GREEDY) -> list[int]:
    return list(llm.generate([prompt], params, adapter=adapter)[0].outputs[0].token_ids)


@pytest.mark.parametrize("params", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_under_prompt_adapters_are_those_of_transformers(
    model: Path, adapters: Path, kind: str, params: SamplingParams
) -> None:
    oracle, sampler, expected = PromptOracle(model), Sampler(), list[int]()
    for produced in range(GREEDY.max_tokens or 0):
        row = SamplingRow(params, position=VIRTUAL[kind] + len(PROMPT) + produced, produced=produced)
        expected += sampler.sample(oracle.logits([*PROMPT, *expected], adapters / kind)[-1:], [row]).tolist()
    with opened(model, adapters, **FLOAT32) as llm:
        assert ids_of(llm, kind, params=params) == expected
        assert ids_of(llm, params=params) != expected


def test_kv_is_shared_by_content_only(llm: LLM) -> None:
    """Blocks with virtual tokens serve another name of the same content, and nothing else."""

    def cached(adapter: str) -> int:
        return llm.generate([PROMPT], GREEDY, adapter=adapter)[0].num_cached_tokens

    assert [cached(name) for name in ("", "lora", *KINDS)] == [0] * 5
    found = {name: cached(name) for name in ("", "lora", *KINDS, "copy")}
    # All but the last token, which is computed for its logits.
    counts = {"": 0, "lora": 0, **VIRTUAL, "copy": VIRTUAL["PREFIX_TUNING"]}
    assert found == {name: count + len(PROMPT) - 1 for name, count in counts.items()}
    # The virtual tokens of another prompt are found too.
    assert llm.generate([[9, *PROMPT]], GREEDY, adapter="P_TUNING")[0].num_cached_tokens == 64


@pytest.mark.parametrize("params", [GREEDY, SAMPLED], ids=["greedy", "sampled"])
def test_answers_alongside_other_adapters_equal_answers_alone(
    model: Path, adapters: Path, params: SamplingParams
) -> None:
    names = ["", "lora", *KINDS, "copy", ""]
    prompts = [[*PROMPT[: 20 + 13 * at], at] for at in range(len(names))]
    with opened(model, adapters) as llm:
        alone = [ids_of(llm, name, prompt, params) for name, prompt in zip(names, prompts, strict=True)]
    with opened(model, adapters) as llm:
        queued = [llm._queue([prompt], [params], 1, name)[0][0] for name, prompt in zip(names, prompts, strict=True)]
        answers = llm._run(queued)
    assert [list(answers[request_id].token_ids) for request_id in queued] == alone
    assert len({tuple(answer) for answer in alone}) > 4


def test_usage_counts_virtual_tokens_as_prompt(llm: LLM) -> None:
    for kind, count in VIRTUAL.items():
        [answer] = llm.generate([PROMPT], GREEDY, adapter=kind)[0].outputs
        assert answer.usage.prompt_tokens == count + len(PROMPT)
        assert answer.usage.kv.computed == count + len(PROMPT)


def test_forks_and_preempted_requests_keep_their_virtual_tokens(model: Path, adapters: Path) -> None:
    # Room for two of the three sequences, so one is preempted and computed again.
    block = 4 * 2 * 2 * 64 * 64 * 2
    long = replace(GREEDY, max_tokens=60)
    prompts = [[at, *PROMPT[:100]] for at in (1, 2, 3)]
    with LLM.open(
        str(model), default_cache_dir(), kv_memory=8 * block, progress=lambda _: None, adapters_dir=adapters
    ) as llm:
        together = [each.outputs[0].token_ids for each in llm.generate(prompts, long, adapter="PREFIX_TUNING")]
        alone = [llm.generate([prompt], long, adapter="PREFIX_TUNING")[0].outputs[0].token_ids for prompt in prompts]
        assert together == alone
        first, second = llm.generate([PROMPT], GREEDY, n=2, adapter="PROMPT_TUNING")[0].outputs
    with opened(model, adapters) as llm:
        assert list(first.token_ids) == list(second.token_ids) == ids_of(llm, "PROMPT_TUNING")


def test_penalties_read_the_text_alone(llm: LLM) -> None:
    """No id is penalized because of a virtual token, the placeholder of virtual tokens included."""
    params = replace(GREEDY, repetition_penalty=10.0, logit_bias=((0, 40.0), (1, 30.0)))
    assert ids_of(llm, "PROMPT_TUNING", params=params)[:2] == [0, 1]


def test_window_has_room_for_virtual_tokens_too(model: Path, adapters: Path) -> None:
    count = VIRTUAL["PREFIX_TUNING"]
    with opened(model, adapters, max_model_len=128) as llm:
        assert len(ids_of(llm, "PREFIX_TUNING", PROMPT[: 128 - count - 3])) == 3
        with pytest.raises(PromptTooLongError, match="the prompt has 128 tokens, 70 of which are virtual tokens"):
            ids_of(llm, "PREFIX_TUNING", PROMPT[: 128 - count])


@pytest.mark.parametrize(
    "params",
    [SamplingParams(pooling="last"), replace(GREEDY, prompt_logprobs=1)],
    ids=["embeddings", "log probabilities"],
)
def test_requests_that_read_the_prompt_are_refused(llm: LLM, params: SamplingParams) -> None:
    with pytest.raises(InvalidRequestError, match="'P_TUNING' is a prompt adapter, which gives no") as refusal:
        ids_of(llm, "P_TUNING", params=params)
    assert refusal.value.param == "model"


def test_virtual_token_cannot_be_written_by_a_client(llm: LLM) -> None:
    with pytest.raises(InvalidRequestError, match="outside the vocabulary"):
        ids_of(llm, "P_TUNING", [1 << 30, 5, 6])


@pytest.mark.many_processes
@pytest.mark.parametrize("split", ["tensor_parallel_size", "pipeline_parallel_size"])
def test_processes_that_share_a_model_compute_prompt_adapters(model: Path, adapters: Path, split: str) -> None:
    fields = FLOAT32 if split == "tensor_parallel_size" else {}
    with opened(model, adapters, **fields) as llm:
        alone = [ids_of(llm, name) for name in ("", *KINDS)]
    with opened(model, adapters, **fields, **{split: 2}) as llm:
        assert [ids_of(llm, name) for name in ("", *KINDS)] == alone


def test_blocks_with_virtual_tokens_come_back_after_a_restart(model: Path, adapters: Path, tmp_path: Path) -> None:
    config = engine_config(model, tmp_path / "state", redis_url="off", disk=True)
    config = config.with_fields(adapters_dir=adapters)
    answers = dict[str, list[int]]()
    with LLM(config) as llm:
        for kind in KINDS:
            answers[kind] = ids_of(llm, kind)
    with LLM(config) as llm:
        for kind in KINDS:
            [answer] = llm.generate([PROMPT], GREEDY, adapter=kind)[0].outputs
            assert list(answer.token_ids) == answers[kind]
            assert answer.usage.kv.reused["disk"] >= (VIRTUAL[kind] + len(PROMPT)) // BLOCK * BLOCK
