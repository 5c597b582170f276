"""Resumption by the real engine of an answer that another process began, from any of its tokens."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import RequestOutput
from engine.api.sampling_params import SamplingParams
from engine.llm import LLM
from tests.integration.engine_rig import BLOCK, engine_config

TOKENS = 50
PROMPT = [1000 + at * 17 % 20000 for at in range(BLOCK + 20)]


def run(llm: LLM, params: SamplingParams, produced: Sequence[int] = ()) -> tuple[str, list[int], RequestOutput]:
    """Resume an answer after the tokens `produced`. Return its whole text, all of its tokens and the last output."""
    request = llm.engine.add_request(GenerateRequest(prompt_token_ids=PROMPT, params=params, produced=produced))
    text, ids = llm.engine.text_before(request), list(produced)
    last = llm.engine.end_if_complete(request)
    while last is None:
        for output in llm.engine.step():
            text, ids = text + output.text, [*ids, *output.token_ids]
            last = output if output.finished else None
    return text, ids, last


@pytest.mark.parametrize("seed", [None, 7])
def test_answer_resumed_at_any_token_ends_the_same(seed: int | None, shallow_model: Path, tmp_path: Path) -> None:
    params = SamplingParams(temperature=0.0 if seed is None else 0.9, seed=seed, max_tokens=TOKENS, ignore_eos=True)
    with LLM(engine_config(shallow_model, tmp_path / "state")) as llm:
        text, ids, last = run(llm, params)
        for count in (1, 43, 44, 45, 49):
            resumed_text, resumed_ids, end = run(llm, params, ids[:count])
            assert (resumed_text, resumed_ids, end.finish_reason) == (text, ids, last.finish_reason)
            assert end.usage is not None
            assert (end.usage.completion_tokens, end.usage.resumed_tokens) == (TOKENS, count)
            assert end.usage.kv.tokens == len(PROMPT) + count


def test_stop_string_across_the_resumption_is_found(shallow_model: Path, tmp_path: Path) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True)
    with LLM(engine_config(shallow_model, tmp_path / "state")) as llm:
        text, _, _ = run(llm, params)
        stop = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True, stop=(text[30:42],))
        cut_text, cut_ids, _ = run(llm, stop)
        assert cut_text == text[: text.index(text[30:42])]
        for count in range(1, len(cut_ids)):
            assert run(llm, stop, cut_ids[:count])[:2] == (cut_text, cut_ids)


def test_complete_answer_ends_at_once_with_its_finish_reason(shallow_model: Path, tmp_path: Path) -> None:
    params = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True)
    with LLM(engine_config(shallow_model, tmp_path / "state")) as llm:
        text, ids, _ = run(llm, params)
        assert run(llm, params, ids)[2].finish_reason == "length"
        stop = SamplingParams(temperature=0.0, max_tokens=TOKENS, ignore_eos=True, stop=(text[30:42],))
        cut_text, cut_ids, _ = run(llm, stop)
        resumed_text, resumed_ids, end = run(llm, stop, cut_ids)
        assert (resumed_text, resumed_ids, end.finish_reason, end.text) == (cut_text, cut_ids, "stop", "")
        assert not llm.engine.has_unfinished_requests()
