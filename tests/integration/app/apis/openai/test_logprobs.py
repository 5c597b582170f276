"""Logprobs, echo and batches of prompts, as OpenAI's client reads them."""

from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]
MESSAGES: Any = [{"role": "user", "content": "x"}]


@row("openai", "chat.completions.create(logprobs=True, top_logprobs=2)", "of each token: its text, bytes and logprob")
async def test_chat_completion_has_logprobs(client: AsyncOpenAI) -> None:
    whole = await client.chat.completions.create(
        model="fake-1", messages=MESSAGES, logprobs=True, top_logprobs=2, max_tokens=3
    )
    told = whole.choices[0].logprobs
    assert told is not None
    assert told.content is not None
    assert [(each.token, each.logprob, bytes(each.bytes or ())) for each in told.content] == [
        (f" w{i}", -0.5, f" w{i}".encode()) for i in range(3)
    ]
    assert [(each.token, each.logprob) for each in told.content[1].top_logprobs] == [(" w1", -0.5), (" w2", -1.5)]
    plain = await client.chat.completions.create(model="fake-1", messages=MESSAGES, logprobs=True)
    assert plain.choices[0].logprobs is not None
    assert plain.choices[0].logprobs.content is not None
    assert "".join(each.token for each in plain.choices[0].logprobs.content) == plain.choices[0].message.content
    assert all(each.top_logprobs == [] for each in plain.choices[0].logprobs.content)


@row("openai", "chat.completions.create(logprobs=True, stream=True)", "the same, with the text")
async def test_streamed_chat_completion_has_logprobs(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="fake-1", messages=MESSAGES, logprobs=True, stream=True)
    chunks = [chunk.choices[0] async for chunk in stream]
    told = [each.token for chunk in chunks if chunk.logprobs is not None for each in chunk.logprobs.content or ()]
    assert "".join(told) == "".join(chunk.delta.content or "" for chunk in chunks)


@row("openai", "completions.create(logprobs=2)", "`tokens`, `token_logprobs`, `top_logprobs`, `text_offset`")
async def test_completion_logprobs_have_text_offsets(client: AsyncOpenAI) -> None:
    choice = (await client.completions.create(model="fake-1", prompt="abc", logprobs=2, max_tokens=2)).choices[0]
    assert choice.logprobs is not None
    assert choice.logprobs.to_dict() == {
        "tokens": [" w0", " w1"],
        "token_logprobs": [-0.5, -0.5],
        "top_logprobs": [{" w0": -0.5, " w1": -1.5}, {" w1": -0.5, " w2": -1.5}],
        "text_offset": [0, 3],
    }


@row("openai", "completions.create(echo=True, logprobs=1)", "the prompt too, whose first token has none")
@pytest.mark.parametrize("prompt", ["aä", list("aä".encode())], ids=["text", "ids"])
async def test_echoed_prompt_has_logprobs(client: AsyncOpenAI, prompt: Any) -> None:
    fields: Any = {"model": "fake-1", "prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": 2}
    choice = (await client.completions.create(**fields)).choices[0]
    assert choice.text == "aä w0 w1"
    expected = {
        "tokens": ["a", "bytes:\\xc3", "bytes:\\xa4", " w0", " w1"],
        "token_logprobs": [None, -0.5, -0.5, -0.5, -0.5],
        "text_offset": [0, 1, 1, 2, 5],
    }
    assert choice.logprobs is not None
    assert {name: choice.logprobs.to_dict()[name] for name in expected} == expected
    assert choice.logprobs.to_dict()["top_logprobs"][:2] == [None, {"bytes:\\xc3": -0.5}]
    stream = await client.completions.create(**fields, stream=True)
    chunks = [chunk.choices[0] async for chunk in stream]
    assert "".join(chunk.text for chunk in chunks) == choice.text
    told = [chunk.logprobs.to_dict() for chunk in chunks if chunk.logprobs is not None]
    assert {name: [each for piece in told for each in piece[name]] for name in expected} == expected


@row("openai", "completions.create(echo=True)", "the prompt, then the text; also streamed")
async def test_echo_works_without_logprobs(client: AsyncOpenAI) -> None:
    fields: Any = {"model": "fake-1", "prompt": "abc", "echo": True, "max_tokens": 2}
    assert (await client.completions.create(**fields)).choices[0].text == "abc w0 w1"
    stream = await client.completions.create(**fields, stream=True)
    assert [chunk.choices[0].text async for chunk in stream][:2] == ["abc", " w0"]


@pytest.mark.parametrize("prompt", ["abcde", list(b"abcde")], ids=["text", "ids"])
@pytest.mark.parametrize("max_tokens", [0, 1])
async def test_echo_of_a_cut_prompt_is_what_was_kept(client: AsyncOpenAI, prompt: Any, max_tokens: int) -> None:
    fields: Any = {"model": "fake-1", "prompt": prompt, "echo": True, "logprobs": 1, "max_tokens": max_tokens}
    whole = await client.completions.create(**fields, extra_body={"truncate_prompt_tokens": 3})
    choice, words = whole.choices[0], [" w0"] * max_tokens
    assert choice.text == "".join(["cde", *words])
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == ["c", "d", "e", *words]
    assert choice.logprobs.token_logprobs == [None, -0.5, -0.5, *[-0.5 for _ in words]]
    assert choice.logprobs.text_offset == [0, 1, 2, *[3 for _ in words]]
    assert whole.usage is not None
    assert whole.usage.prompt_tokens == 3


@row("openai", "completions.create(echo=True, logprobs=1, max_tokens=0)", "the prompt alone, scored")
@pytest.mark.parametrize("prompt", ["ab", ["ab", "abc"]], ids=["one", "several"])
async def test_prompt_is_scored_without_generation(client: AsyncOpenAI, prompt: Any) -> None:
    fields: Any = {"model": "fake-1", "prompt": prompt, "echo": True, "max_tokens": 0}
    whole = await client.completions.create(**fields, logprobs=1)
    choice = whole.choices[0]
    assert (choice.text, choice.finish_reason) == ("ab", "length")
    assert choice.logprobs is not None
    assert (choice.logprobs.tokens, choice.logprobs.token_logprobs) == (["a", "b"], [None, -0.5])
    assert whole.usage is not None
    assert whole.usage.completion_tokens == 0
    for logprobs in (1, None):
        streamed: Any = {**fields, "logprobs": logprobs, "stream_options": {"include_usage": True}}
        stream = await client.completions.create(**streamed, stream=True)
        chunks = [chunk async for chunk in stream]
        assert "".join(each.text for chunk in chunks for each in chunk.choices if each.index == 0) == "ab"
        assert chunks[-1].usage is not None
        assert chunks[-1].usage.completion_tokens == 0
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(model="fake-1", prompt=prompt, max_tokens=0)
    assert caught.value.param == "max_tokens"


@row("openai", "completions.create(prompt=[..., ...])", "a choice for each text or list of token ids; also streamed")
@pytest.mark.parametrize("prompts", [["a", "bc", "def"], [[97], [98, 99], [100, 101, 102]]], ids=["texts", "ids"])
async def test_each_prompt_of_a_batch_has_its_choice(client: AsyncOpenAI, api: Api, prompts: Any) -> None:
    whole = await client.completions.create(model="fake-1", prompt=prompts, max_tokens=3, echo=True)
    assert [(each.index, each.text) for each in whole.choices] == [
        (0, "a w0 w1 w2"),
        (1, "bc w0 w1 w2"),
        (2, "def w0 w1 w2"),
    ]
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (6, 9)
    stream = await client.completions.create(
        model="fake-1", prompt=prompts, max_tokens=3, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]
    for index in range(3):
        own = [chunk.choices[0] for chunk in chunks if chunk.choices[0].index == index]
        assert "".join(each.text for each in own) == " w0 w1 w2"
        assert own[-1].finish_reason == "length"
    assert last.usage is not None
    assert last.usage.total_tokens == 15
    assert len({chunk.id for chunk in chunks}) == 1
    assert api.engine.running == 0


async def test_failure_of_one_prompt_aborts_the_batch(client: AsyncOpenAI, api: Api) -> None:
    with pytest.raises(openai.BadRequestError):
        await client.completions.create(model="fake-1", prompt=[[97], [98] * 5000])
    await api.engine.until_running(0)
    with pytest.raises(openai.InternalServerError):
        await client.completions.create(model="fake-1", prompt=["a", "please fail"])
    await api.engine.until_running(0)
    stream = await client.completions.create(model="fake-1", prompt=["a", "please fail"], stream=True)
    with pytest.raises(openai.APIError):
        [chunk async for chunk in stream]
    await api.engine.until_running(0)


async def test_disconnect_aborts_every_answer_of_the_batch(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.completions.create(model="fake-1", prompt=["a", "b"], stream=True)
    await api.engine.until_running(2)
    api.engine.allow(2)
    await anext(aiter(stream))
    await stream.close()
    await api.engine.until_running(0)
