"""Requests to replicas: the texts, the refusals and the choice of the replica."""

import asyncio

import pytest

from engine.api.errors import EbbError, InvalidRequestError, PromptTooLongError
from engine.api.generate_request import GenerateRequest
from engine.api.promise import PromiseRequest
from engine.api.sampling_params import SamplingParams
from engine.api.stored_tokens import Trail
from engine.fleet.remote_engine import RemoteEngine
from engine.loop.async_llm import AsyncLLMEngine
from tests.integration.engine.fleet.answers import SECONDS, answers_of, prompt_of, reading, told, until_states
from tests.sizes import MANY_PROCESSES

pytestmark = [pytest.mark.asyncio(loop_scope="package"), MANY_PROCESSES]

SHORT = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)
LONG = SamplingParams(temperature=0.0, max_tokens=2_000, ignore_eos=True)


async def test_chat_returns_to_its_replica(fleet: RemoteEngine, alone: AsyncLLMEngine) -> None:
    await until_states(fleet, "ok", "ok")
    prompts = [prompt_of(300, salt) for salt in range(100, 104)]
    for _ in range(3):
        answers = [(await answers_of(fleet, prompt, SHORT))[0] for prompt in prompts]
        expected = [(await answers_of(alone, prompt, SHORT))[0] for prompt in prompts]
        assert [told(each) for each in answers] == [told(each) for each in expected]
        reused = [each.usage.kv.reused["device"] for each in answers if each.usage is not None]
        prompts = [
            [*prompt, *answer.token_ids, *prompt_of(64, 1000 + at)]
            for at, (prompt, answer) in enumerate(zip(prompts, answers, strict=True))
        ]
    # Each turn finds all that the turn before computed on the device: prompt and answer, but for the last token.
    assert reused == [300 + 8 + 64 + 8 - 1] * 4


async def test_requests_are_divided_among_idle_replicas(fleet: RemoteEngine) -> None:
    await until_states(fleet, "ok", "ok")
    readers = [(await reading(fleet, prompt_of(100, salt), LONG))[0] for salt in range(200, 204)]
    answers = [each.answers for each in fleet.stats().replicas]
    # Beyond one for each, the measured speeds decide, which differ on a busy machine.
    assert (sum(answers), min(answers) > 0) == (4, True), answers
    for each in readers:
        fleet.abort(each.stream.request_id)
        assert (await each.whole()).finish_reason == "abort"
    assert [each.answers for each in fleet.stats().replicas] == [0, 0]
    assert fleet.requests_of("local") == []


async def test_abandoned_stream_frees_its_replica(fleet: RemoteEngine) -> None:
    await until_states(fleet, "ok", "ok")
    [stream] = await fleet.generate(GenerateRequest(prompt_token_ids=prompt_of(100, 210), params=LONG))
    async with asyncio.timeout(SECONDS), stream:
        await anext(stream)
    async with asyncio.timeout(SECONDS):
        # The replica's own count comes with its next beat.
        while fleet.stats().requests.running or sum(each.answers for each in fleet.stats().replicas):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_refusals_are_those_of_one_engine(fleet: RemoteEngine, alone: AsyncLLMEngine) -> None:
    await until_states(fleet, "ok", "ok")
    wrong = SamplingParams(temperature=-1.0)
    for request, kind in (
        (GenerateRequest(prompt_token_ids=prompt_of(10_000), params=SHORT), PromptTooLongError),
        (GenerateRequest(prompt_token_ids=prompt_of(100), params=wrong), InvalidRequestError),
    ):
        with pytest.raises(kind) as here:
            await fleet.generate(request)
        with pytest.raises(kind) as there:
            await alone.generate(request)
        assert _facts(here.value) == _facts(there.value)
    assert [each.answers for each in fleet.stats().replicas] == [0, 0]


def _facts(error: EbbError) -> tuple[str, str | None, str]:
    return error.message, error.param, error.code


async def test_erased_prefix_is_in_no_tier(fleet: RemoteEngine) -> None:
    await until_states(fleet, "ok", "ok")
    prompt = prompt_of(300, 220)
    [answer] = await answers_of(fleet, prompt, SHORT)
    ids = [*prompt, *answer.token_ids]
    [place] = await fleet.prefixes.places([ids[:-1]], tenant="local")
    assert place == "device"
    await fleet.erase(await fleet.keys_of_trails([Trail(ids, 0, [len(ids) - 1])]))
    async with asyncio.timeout(SECONDS):
        # A block that is still being written to Redis leaves CPU memory once the write has ended.
        while await fleet.prefixes.places([ids[:-1]], tenant="local") != [None]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_prefix_is_kept_and_released_by_the_replicas(fleet: RemoteEngine) -> None:
    await until_states(fleet, "ok", "ok")
    prompt = prompt_of(300, 230)
    await answers_of(fleet, prompt, SHORT)
    wanted = PromiseRequest(len(prompt), 3600.0, 1 << 30)
    report = await fleet.prefixes.promise(prompt, wanted, tenant="local", patience=0.0)
    # The engines of these tests have no disk, which each replica says.
    assert (report.num_tokens, report.num_declined, report.reason) == (0, 256, "no_disk")
    assert await fleet.prefixes.release(prompt, num_shared=0, tenant="local")
