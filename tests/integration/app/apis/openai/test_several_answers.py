"""Several answers to one prompt (`n`, `best_of`), through OpenAI's client."""

import asyncio
from collections import defaultdict
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from engine.testing.replay_engine import FAILING, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]
MESSAGES: Any = [{"role": "user", "content": "hi"}]


def answer(choice: int, words: int = ANSWER_WORDS) -> str:
    return "".join(f" w{100 * choice + word}" for word in range(words))


@row("openai", "chat.completions.create(n=3)", "three choices; usage counts the prompt once, and all answers")
async def test_chat_returns_as_many_choices_as_requested(client: AsyncOpenAI, api: Api) -> None:
    one = await client.chat.completions.create(model="fake-1", messages=MESSAGES, seed=5)
    several = await client.chat.completions.create(model="fake-1", messages=MESSAGES, seed=5, n=3)
    assert [choice.message.content for choice in several.choices] == [answer(choice) for choice in range(3)]
    assert [choice.index for choice in several.choices] == [0, 1, 2]
    assert [(request.params.seed, request.params.choice) for request in api.engine.requests[1:]] == [
        (5, 0),
        (5, 1),
        (5, 2),
    ]
    assert one.usage is not None
    assert several.usage is not None
    assert several.usage.prompt_tokens == one.usage.prompt_tokens
    assert several.usage.completion_tokens == 3 * one.usage.completion_tokens
    kv = several.usage.to_dict()["kv"]
    assert isinstance(kv, dict)
    assert kv["device"] + kv["computed"] == one.usage.prompt_tokens


@row("openai", "chat.completions.create(n=2, stream=True)", "chunks of all choices as they come, each with its index")
async def test_streamed_choices_are_interleaved(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    asking = asyncio.create_task(
        client.chat.completions.create(
            model="fake-1", messages=MESSAGES, n=2, stream=True, stream_options={"include_usage": True}
        )
    )
    await api.engine.until_running(2)
    api.engine.allow(1)
    stream = await asking
    first = [await anext(aiter(stream)) for _ in range(4)]
    # Both choices stream before either is complete.
    assert sorted(chunk.choices[0].index for chunk in first) == [0, 0, 1, 1]
    api.engine.allow(None)
    *chunks, last = first + [chunk async for chunk in stream]
    texts: dict[int, str] = defaultdict(str)
    roles: dict[int, str | None] = {}
    reasons = {}
    for chunk in chunks:
        [choice] = chunk.choices
        roles.setdefault(choice.index, choice.delta.role)
        texts[choice.index] += choice.delta.content or ""
        reasons[choice.index] = choice.finish_reason
    assert texts == {0: answer(0), 1: answer(1)}
    assert roles == {0: "assistant", 1: "assistant"}
    assert reasons == {0: "stop", 1: "stop"}
    assert last.usage is not None
    assert last.usage.completion_tokens == 2 * (ANSWER_WORDS + 1)
    assert last.usage.prompt_tokens == len(api.engine.requests[0].prompt)


@row("openai", "completions.create(prompt=[..., ...], n=2)", "those to one prompt stand beside each other")
@pytest.mark.parametrize("stream", [False, True])
async def test_each_prompt_of_completions_gets_n_choices(client: AsyncOpenAI, stream: bool) -> None:
    fields: Any = {"model": "fake-1", "prompt": ["ab", "cde"], "n": 2, "max_tokens": 3, "echo": True, "stream": stream}
    told: Any = await client.completions.create(**fields)
    texts: dict[int, str] = defaultdict(str)
    for each in [chunk async for chunk in told] if stream else [told]:
        for choice in each.choices:
            texts[choice.index] += choice.text
    assert [texts[index] for index in range(4)] == [
        f"{prompt}{answer(n, 3)}" for prompt in ("ab", "cde") for n in (0, 1)
    ]
    if not stream:
        assert (told.usage.prompt_tokens, told.usage.completion_tokens) == (5, 12)


@row("openai", "completions.create(n=2, best_of=4)", "the two likeliest of four, the likeliest first")
async def test_best_of_returns_likeliest_answers(client: AsyncOpenAI) -> None:
    # The fake engine reports higher logprobs for later answers.
    told = await client.completions.create(model="fake-1", prompt=["ab", "c"], n=2, best_of=4, max_tokens=3)
    assert [choice.text for choice in told.choices] == [answer(3, 3), answer(2, 3)] * 2
    assert [choice.index for choice in told.choices] == [0, 1, 2, 3]
    assert all(choice.logprobs is None for choice in told.choices)
    assert told.usage is not None
    assert (told.usage.prompt_tokens, told.usage.completion_tokens) == (3, 24)
    with_logprobs = await client.completions.create(model="fake-1", prompt="ab", best_of=2, max_tokens=1, logprobs=0)
    assert with_logprobs.choices[0].logprobs is not None
    assert with_logprobs.choices[0].logprobs.token_logprobs == [-0.25]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"n": 0}, "n"),
        ({"n": 17}, "n"),
        ({"n": 1000}, "n"),
        ({"n": "2"}, "n"),
        ({"n": 3, "best_of": 2}, "best_of"),
        ({"best_of": 17}, "best_of"),
        ({"best_of": 2, "stream": True}, "best_of"),
        ({"n": 16, "prompt": ["x"] * 9}, "n"),
        ({"best_of": 16, "prompt": ["x"] * 9}, "best_of"),
    ],
)
async def test_excessive_counts_are_refused_by_field_name(
    client: AsyncOpenAI, api: Api, fields: Any, param: str
) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.post("/completions", body={"model": "fake-1", "prompt": "x", **fields}, cast_to=object)
    assert caught.value.param == param
    assert not api.engine.requests


@row("openai", "chat.completions.create(n=2, stop=..., logprobs=True)", "each choice has its own")
async def test_each_choice_has_its_own_logprobs_and_finish_reason(client: AsyncOpenAI) -> None:
    told = await client.chat.completions.create(
        model="fake-1", messages=MESSAGES, n=2, stop=["w103"], logprobs=True, max_tokens=6
    )
    assert [choice.finish_reason for choice in told.choices] == ["length", "stop"]
    assert [choice.message.content for choice in told.choices] == [answer(0, 6), answer(1, 3)]
    for choice in told.choices:
        assert choice.logprobs is not None
        assert choice.logprobs.content is not None
        assert "".join(each.token for each in choice.logprobs.content).startswith(choice.message.content or "")


async def test_any_choice_sent_back_is_a_prefix_hit(client: AsyncOpenAI, api: Api) -> None:
    several = await client.chat.completions.create(model="fake-1", messages=MESSAGES, n=2)
    for choice, produced in zip(several.choices, api.engine.requests[:2], strict=True):
        said = {"role": "assistant", "content": choice.message.content}
        messages: Any = [*MESSAGES, said, {"role": "user", "content": "And?"}]
        await client.chat.completions.create(model="fake-1", messages=messages)
        before = (*produced.prompt, *produced.produced)
        assert api.engine.requests[-1].prompt[: len(before)] == before


@pytest.mark.parametrize("stream", [False, True])
async def test_engine_failure_ends_all_choices(client: AsyncOpenAI, api: Api, stream: bool) -> None:
    async def ask() -> None:
        told: Any = await client.completions.create(model="fake-1", prompt=FAILING, n=3, stream=stream)
        async for _ in told:
            pass

    with pytest.raises(openai.APIError, match="failed"):
        await ask()
    await api.engine.until_running(0)


@pytest.mark.parametrize("stream", [False, True])
async def test_client_disconnect_aborts_all_choices(client: AsyncOpenAI, api: Api, stream: bool) -> None:
    api.engine.hold()
    asking: Any = asyncio.create_task(client.completions.create(model="fake-1", prompt="x", n=3, stream=stream))
    await api.engine.until_running(3)
    if stream:
        api.engine.allow(2)
        await (await asking).close()
    else:
        asking.cancel()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 3}


async def test_queue_without_room_for_all_choices_takes_none(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    busy = [asyncio.create_task(client.completions.create(model="fake-1", prompt="x", n=15)) for _ in range(4)]
    await api.engine.until_running(60)
    with pytest.raises(openai.RateLimitError) as caught:
        await client.completions.create(model="fake-1", prompt="x", n=5)
    assert caught.value.response.headers["Retry-After"] == "3"
    assert api.engine.running == 60
    api.engine.allow(None)
    await asyncio.gather(*busy)
