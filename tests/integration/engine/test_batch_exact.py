"""Requests with different settings in one batch of the real model: each gets the same tokens as alone."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.llm import LLM
from tests.integration.engine_rig import engine_config
from tests.sizes import Size

TOKENS = 12
SCHEMA = '{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}'
SETTINGS = (
    SamplingParams(temperature=0.0),
    SamplingParams(temperature=0.9, top_p=0.9),
    SamplingParams(form=StructuredOutput("json", SCHEMA)),
    SamplingParams(temperature=0.0, repetition_penalty=1.2, frequency_penalty=0.4, presence_penalty=0.3),
    SamplingParams(temperature=1.3, top_k=40, logprobs=3, prompt_logprobs=2),
    SamplingParams(
        temperature=0.0, form=StructuredOutput("lark", 'start: "It is " ("1" | "2" | "3")+ " miles to the sea."')
    ),
    SamplingParams(bad_words=("the", "of the", "sea"), min_tokens=8, stop=("and",)),
    SamplingParams(min_p=0.05, logit_bias=((300, 4.0), (500, -100.0)), logprobs=0),
    SamplingParams(temperature=0.0, form=StructuredOutput("regex", "(Yes|No), (the|a) [a-z]{4,20} of [a-z ]+")),
    SamplingParams(allowed_token_ids=tuple(range(300, 900)), frequency_penalty=1.0),
    SamplingParams(ignore_eos=True, stop_token_ids=(28, 30), include_stop_str_in_output=True),
    SamplingParams(temperature=0.7, choice=2, top_k=5, skip_special_tokens=False),
)


@pytest.fixture
def llm(shallow_model: Path, tmp_path: Path) -> Iterator[LLM]:
    with LLM(engine_config(shallow_model, tmp_path / "state", blocks=120, prefix_cache=False)) as made:
        yield made


def requests(llm: LLM, count: int) -> list[tuple[list[int], SamplingParams]]:
    """Make `count` requests with prompts of different lengths that cycle through SETTINGS, each with its own seed."""
    text = "Please tell me how far it is from here to the sea, and what rivers have to do with it. "
    prompts = [llm.tokenizer.encode_prompt(text * (1 + number % 3) + str(number)) for number in range(count)]
    wishes = [SETTINGS[number % len(SETTINGS)] for number in range(count)]
    return [
        (prompt, replace(params, seed=40 + number, max_tokens=TOKENS))
        for number, (prompt, params) in enumerate(zip(prompts, wishes, strict=True))
    ]


def together(llm: LLM, asked: Sequence[tuple[list[int], SamplingParams]]) -> tuple[list[list[int]], int]:
    """Run requests together. Return the tokens of each, and the largest number that were running at once."""
    ids = {
        llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)).request_id: list[int]()
        for prompt, params in asked
    }
    most = 0
    while llm.engine.has_unfinished_requests():
        for output in llm.engine.step():
            assert output.finish_reason != "error", output.error
            ids[output.request_id] += output.token_ids
        most = max(most, llm.engine.stats().requests.running)
    return list(ids.values()), most


def test_each_request_of_a_batch_gets_the_same_tokens_as_alone(llm: LLM, size: Size) -> None:
    asked = requests(llm, size.pick(small=len(SETTINGS), full=32))
    crowd, most = together(llm, asked)
    assert most >= 0.75 * len(asked), "too few requests ran at the same time"
    alone = [together(llm, [each])[0][0] for each in asked]
    assert crowd == alone
