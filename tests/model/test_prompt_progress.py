"""Progress of prompts from the whole engine, with a toy model."""

import asyncio

from engine.api.generate_request import GenerateRequest
from engine.api.outputs import PromptProgress, RequestOutput, joined
from engine.api.sampling_params import SamplingParams
from tests.model.toy_engine import ToyEngine

PROMPT = [*range(10)] * 6
ANSWER = SamplingParams(temperature=0.0, max_tokens=3, seed=0, ignore_eos=True)


async def outputs_of(toy: ToyEngine, *requests: GenerateRequest) -> list[list[RequestOutput]]:
    """Return the outputs of each answer to the requests, which are asked at once."""

    async def read(request: GenerateRequest) -> list[list[RequestOutput]]:
        streams = await toy.engine.generate(request)
        return [[output async for output in stream] for stream in streams]

    async with asyncio.timeout(20):
        return [answer for answers in await asyncio.gather(*map(read, requests)) for answer in answers]


def reports_of(outputs: list[RequestOutput]) -> list[PromptProgress]:
    """Return the reports of an answer, of which none may follow its first token."""
    first = next(at for at, output in enumerate(outputs) if output.token_ids)
    assert not any(output.progress for output in outputs[first + 1 :])
    return [report for output in outputs for report in output.progress]


async def test_each_step_is_reported_to_the_request_that_asked() -> None:
    toy = ToyEngine()
    await toy.engine.start()
    asked = GenerateRequest(prompt_token_ids=PROMPT, params=ANSWER, progress_every=0.0)
    [silent] = await outputs_of(toy, GenerateRequest(prompt_token_ids=PROMPT[::-1], params=ANSWER))
    [first] = await outputs_of(toy, asked)
    [again] = await outputs_of(toy, asked)
    await toy.engine.stop(20.0)
    assert reports_of(silent) == []
    # A step has room for nine tokens.
    assert [report.done for report in reports_of(first) if report.state == "computing"] == [*range(0, 60, 9), 60]
    assert {report.cached for report in reports_of(first)} == {0}
    [begin, end] = [report for report in reports_of(again) if report.state == "computing"]
    assert (begin.done, begin.cached, end.done, end.total) == (59, 59, 60, 60)
    assert joined(first).token_ids == joined(again).token_ids


async def test_queued_prompts_report_that_they_wait() -> None:
    toy = ToyEngine()
    await toy.engine.start()
    prompts = [[at, *PROMPT[:40]] for at in range(6)]
    answers = await outputs_of(
        toy, *(GenerateRequest(prompt_token_ids=each, params=ANSWER, progress_every=0.0) for each in prompts)
    )
    await toy.engine.stop(20.0)
    states = [[report.state for report in reports_of(each)] for each in answers]
    assert all(each[-1] == "computing" for each in states)
    # Four of them fill the batch.
    assert sum(each[0] == "waiting" for each in states) >= 2
    for each in answers:
        done = [report.done for report in reports_of(each)]
        assert done == sorted(done)
        assert done[-1] == 41


async def test_first_of_several_answers_has_the_reports() -> None:
    toy = ToyEngine()
    await toy.engine.start()
    first, *others = await outputs_of(
        toy, GenerateRequest(prompt_token_ids=PROMPT, params=ANSWER, num_answers=3, progress_every=0.0)
    )
    await toy.engine.stop(20.0)
    assert len(reports_of(first)) >= 7
    assert [reports_of(each) for each in others] == [[], []]
