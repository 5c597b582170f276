"""Structured outputs of the real model: complete answers validate, and truncated ones are valid prefixes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import FinishReason
from engine.api.sampling_params import SamplingParams
from engine.api.structured_output import StructuredOutput
from engine.llm import LLM
from tests.integration.engine_rig import engine_config
from tests.integration.schema_zoo import schemas
from tests.sizes import Size

WAVE = 24
QUESTION = "Give me an example of this as JSON, a short one please."


@pytest.fixture(scope="module")
def llm(shallow_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LLM]:
    with LLM(
        engine_config(shallow_model, tmp_path_factory.mktemp("forms") / "state", blocks=96, prefix_cache=False)
    ) as made:
        yield made


def answers(llm: LLM, asked: list[SamplingParams]) -> list[tuple[str, list[int], FinishReason]]:
    """Generate all answers in one batch, and return text, tokens and finish reason of each."""
    prompt = llm.tokenizer.encode_prompt(f"<|im_start|>user\n{QUESTION}<|im_end|>\n<|im_start|>assistant\n")
    order = [
        llm.engine.add_request(GenerateRequest(prompt_token_ids=prompt, params=params)).request_id for params in asked
    ]
    texts = dict.fromkeys(order, "")
    ids: dict[str, list[int]] = {request_id: [] for request_id in order}
    ends: dict[str, FinishReason] = {}
    while len(ends) < len(order):
        for output in llm.engine.step():
            texts[output.request_id] += output.text
            ids[output.request_id] += output.token_ids
            if output.finish_reason is not None:
                ends[output.request_id] = output.finish_reason
    return [(texts[request_id], ids[request_id], ends[request_id]) for request_id in order]


def form_of(schema: dict[str, Any]) -> StructuredOutput:
    return StructuredOutput("json", json.dumps(schema, ensure_ascii=False))


@pytest.mark.long
def test_complete_answers_validate_and_others_are_prefixes(llm: LLM, size: Size) -> None:
    asked = schemas(size.pick(small=8, full=500))
    params = [
        SamplingParams(temperature=0.8, seed=seed, max_tokens=size.pick(small=60, full=120), form=form_of(schema))
        for seed, schema in enumerate(asked)
    ]
    ended = 0
    for first in range(0, len(asked), WAVE):
        wave = slice(first, first + WAVE)
        for schema, each, (text, ids, reason) in zip(
            asked[wave], params[wave], answers(llm, params[wave]), strict=True
        ):
            if reason == "stop":
                jsonschema.validate(json.loads(text), schema)
                ended += 1
            else:
                assert reason == "length", (schema, text)
                assert is_beginning(llm, each, ids), (schema, text)
    assert ended > len(asked) / 2


def is_beginning(llm: LLM, params: SamplingParams, ids: list[int]) -> bool:
    mask = llm.engine.grammars.mask(params, (), "local")
    assert mask is not None
    for id_ in ids:
        mask.accept(id_)
    return any(mask.words()) and mask.failure is None


def test_each_of_several_answers_has_the_form(llm: LLM) -> None:
    schema = {"type": "array", "items": {"type": "integer", "maximum": 9999}, "minItems": 3, "maxItems": 6}
    params = SamplingParams(temperature=1.5, seed=1, max_tokens=60, form=form_of(schema))
    first = llm.engine.add_request(
        GenerateRequest(prompt_token_ids=llm.tokenizer.encode_prompt("Numbers:"), params=params)
    )
    order = [first.request_id, *(llm.engine.add_fork(first.request_id, choice).request_id for choice in (1, 2))]
    texts = dict.fromkeys(order, "")
    while llm.engine.has_unfinished_requests():
        for output in llm.engine.step():
            texts[output.request_id] += output.text
    for text in texts.values():
        jsonschema.validate(json.loads(text), schema)
    assert len(set(texts.values())) == 3


def test_answer_resumed_at_any_token_keeps_its_form(llm: LLM) -> None:
    schema = {"type": "array", "items": {"type": "integer", "maximum": 99}, "minItems": 3, "maxItems": 6}
    params = SamplingParams(temperature=0.0, max_tokens=40, form=form_of(schema))
    [(_, ids, _)] = answers(llm, [params])
    for count in range(1, len(ids), 6):
        request = llm.engine.add_request(
            GenerateRequest(prompt_token_ids=llm.tokenizer.encode_prompt("x"), params=params, produced=ids[:count])
        )
        resumed, reason = llm.engine.text_before(request), None
        while reason is None:
            for output in llm.engine.step():
                resumed, reason = resumed + output.text, output.finish_reason
        assert reason == "stop"
        jsonschema.validate(json.loads(resumed), schema)


CONST = {"type": "object", "properties": {"celsius": {"enum": [12, 13]}, "a_long_name": {"const": "  two  spaces \n"}}}
FORCING = (
    form_of({**CONST, "required": ["celsius", "a_long_name"], "additionalProperties": False}),
    StructuredOutput("lark", r'start: "<tool_call>\n" ("Rome" | "Paris") "\n</tool_call>  done: 1234567!" ("!" | "?")'),
    StructuredOutput("regex", r"(a|b) and nothing else, 2026-01-01\n\n\tthe end"),
)


@pytest.mark.parametrize("form", FORCING, ids=[form.kind for form in FORCING])
def test_tokens_depend_on_neither_mask_timing_nor_resumption(llm: LLM, form: StructuredOutput) -> None:
    whole = first_choices(llm, form, [], takes_forced=True)
    assert first_choices(llm, form, [], takes_forced=False) == whole
    for count in range(1, len(whole)):
        assert first_choices(llm, form, whole[:count], takes_forced=True) == whole


def first_choices(llm: LLM, form: StructuredOutput, before: list[int], *, takes_forced: bool) -> list[int]:
    """Choose the lowest allowed id at each step, and return the ids up to the end of the answer.

    The lowest id is usually a single letter, which is not how the tokenizer would encode the text.

    before: ids that the answer begins with.
    takes_forced: take the ids that the mask forces, instead of choosing them.
    """
    mask = llm.engine.grammars.mask(SamplingParams(form=form), (), "local")
    assert mask is not None
    ids, fresh = list(before), list(before)
    while True:
        for id_ in fresh:
            mask.accept(id_)
        words = int.from_bytes(mask.words(), "little")
        assert mask.failure is None
        lowest = (words & -words).bit_length() - 1
        if lowest in llm.tokenizer.eos_token_ids:
            return ids
        fresh = list(mask.forced()) if takes_forced and ids else []
        fresh = fresh or [lowest]
        ids += fresh
