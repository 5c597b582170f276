"""Offline use: answers with the names that users of vLLM expect."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.api.errors import EngineError, InvalidRequestError
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from engine.loop.llm_engine import LLMEngine
from tests.conftest import default_cache_dir
from tests.tiny_models import make_tiny_model

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "offline.md"
MODEL = '"smollm2-135m-instruct"'
CACHE = 'Path.home() / ".cache" / "ebb"'
PROMPT = [5 + at * 7 % 200 for at in range(150)]
SHORT = SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)


@pytest.fixture(scope="module")
def llm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLM]:
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny") / "model", hidden=128, heads=2, kv_heads=1)
    with LLM.open(str(folder), default_cache_dir(), kv_memory=8 << 20, progress=lambda _: None) as llm:
        yield llm


def test_results_have_the_order_of_the_prompts(llm: LLM) -> None:
    texts = ["tide", "a longer prompt about the sea", "x"]
    results = llm.generate(texts, [SamplingParams(temperature=0.0, max_tokens=at, ignore_eos=True) for at in (3, 1, 2)])
    assert [each.prompt for each in results] == texts
    assert [list(each.prompt_token_ids) for each in results] == [llm.tokenizer.encode_prompt(each) for each in texts]
    answers = [each.outputs[0] for each in results]
    assert [len(each.token_ids) for each in answers] == [3, 1, 2]
    assert {(each.index, each.finish_reason, each.stop_reason, each.logprobs) for each in answers} == {
        (0, "length", None, None)
    }
    alone = llm.generate(texts[1], SHORT)[0]
    assert alone.outputs[0].token_ids[:1] == answers[1].token_ids


def test_far_more_prompts_than_places_are_answered(llm: LLM) -> None:
    results = llm.generate([[*PROMPT[:20], at % 200] for at in range(300)], SHORT)
    assert [len(each.outputs[0].token_ids) for each in results] == [6] * 300
    assert {each.prompt for each in results} == {None}


def test_cached_tokens_are_those_of_the_prompt_found_before(llm: LLM) -> None:
    prompt = [at * 11 % 200 for at in range(150)]
    first, again = (llm.generate([prompt], SHORT)[0] for _ in range(2))
    longer = llm.generate([[*prompt, *first.outputs[0].token_ids, 7]], SHORT)[0]
    assert first.num_cached_tokens == 0
    assert again.num_cached_tokens >= 128
    # KV of an answer's last token is never computed.
    assert longer.num_cached_tokens == len(prompt) + len(first.outputs[0].token_ids) - 1


def test_several_answers_share_prompt_and_repeat_with_seed(llm: LLM) -> None:
    params = SamplingParams(seed=5, max_tokens=8, ignore_eos=True, logprobs=2, prompt_logprobs=1)
    first, again = (llm.generate([PROMPT], params, n=3)[0] for _ in range(2))
    assert [answer.index for answer in first.outputs] == [0, 1, 2]
    assert len({answer.token_ids for answer in first.outputs}) == 3
    assert [answer.token_ids for answer in first.outputs] == [answer.token_ids for answer in again.outputs]
    assert first.prompt_logprobs is not None
    assert len(first.prompt_logprobs) == len(PROMPT)


def test_logprobs_have_token_and_likeliest_ones_with_ranks(llm: LLM) -> None:
    [result] = llm.generate([PROMPT], SamplingParams(seed=3, max_tokens=30, ignore_eos=True, logprobs=2))
    [answer] = result.outputs
    assert answer.logprobs is not None
    total = 0.0
    for token_id, at in zip(answer.token_ids, answer.logprobs, strict=True):
        total += at[token_id].logprob
        ranked = sorted((each.rank, -each.logprob) for each in at.values() if each.rank is not None)
        assert [rank for rank, _ in ranked] == [1, 2]
        assert ranked == sorted(ranked, key=lambda each: each[1])
        assert at[token_id].decoded_token == llm.tokenizer.describe([token_id])
        assert len(at) == (2 if at[token_id].rank is not None else 3)
    assert answer.cumulative_logprob == pytest.approx(total)
    assert result.prompt_logprobs is None


def test_prompt_logprobs_score_every_token_but_the_first(llm: LLM) -> None:
    [result] = llm.generate([PROMPT], SamplingParams(max_tokens=1, prompt_logprobs=0))
    assert result.prompt_logprobs is not None
    first, *others = result.prompt_logprobs
    assert first is None
    assert [list(at) for at in others if at is not None] == [[id_] for id_ in PROMPT[1:]]
    assert result.outputs[0].logprobs is None


def test_stop_reason_names_string_or_token(llm: LLM) -> None:
    whole = llm.generate([PROMPT], SHORT)[0].outputs[0]
    by_token = llm.generate(
        [PROMPT], SamplingParams(temperature=0.0, max_tokens=6, stop_token_ids=whole.token_ids[3:4])
    )
    assert (by_token[0].outputs[0].finish_reason, by_token[0].outputs[0].stop_reason) == ("stop", whole.token_ids[3])
    stop = whole.text[-1:]
    by_text = llm.generate([PROMPT], SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True, stop=(stop,)))
    assert (by_text[0].outputs[0].finish_reason, by_text[0].outputs[0].stop_reason) == ("stop", stop)


@pytest.mark.parametrize(
    ("params", "n", "named"),
    [([SHORT], 1, "2 prompts and 1 parameters"), (SHORT, 0, "n is 0"), (SamplingParams(top_p=2.0), 1, "top_p")],
)
def test_invalid_call_starts_nothing(llm: LLM, params: SamplingParams, n: int, named: str) -> None:
    with pytest.raises(InvalidRequestError, match=named):
        llm.generate([PROMPT, PROMPT[:9]], params, n=n)
    assert not llm.engine.has_unfinished_requests()


def test_message_that_is_no_text_is_refused(llm: LLM) -> None:
    pictured: list[dict[str, object]] = [{"role": "user", "content": [{"type": "image_url"}]}]
    with pytest.raises(InvalidRequestError, match="both of them text"):
        llm.chat(pictured)  # type: ignore[arg-type]


def test_failed_answer_raises_instead_of_waiting_for_ever(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    step = LLMEngine.step

    def fails(engine: LLMEngine) -> list[RequestOutput]:
        return [engine._fail(request) for request, _ in engine._outputs.unfinished()] or step(engine)

    with monkeypatch.context() as patch:
        patch.setattr(LLMEngine, "step", fails)
        with pytest.raises(EngineError, match="failed on this request"):
            llm.generate([PROMPT], SamplingParams(max_tokens=1))


def test_examples_of_the_guide_run(shallow_model: Path, tmp_path: Path) -> None:
    """Run every example of docs/guides/offline.md in order, in one namespace, with the folders of the tests."""
    examples = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), flags=re.S | re.M)
    assert len(examples) >= 8
    kept = f"Path({str(default_cache_dir())!r})"
    names: dict[str, object] = {}
    for example in examples:
        code = example.replace(MODEL, repr(str(shallow_model))).replace(CACHE, kept)
        code = code.replace('folder / "offline"', f"Path({str(tmp_path)!r})")
        exec(compile(code, str(GUIDE), "exec"), names)
