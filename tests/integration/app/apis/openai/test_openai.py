"""OpenAI routes, driven by OpenAI's own client over a real socket."""

import asyncio
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from app.host.model_aliases import ModelAliases
from engine.api.urgency import Urgency
from engine.testing.byte_chat_format import REFUSED
from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
MESSAGES: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


def client_of(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


@row("openai", "chat.completions.create(...)", "text, reason, usage, the receipt in `usage.kv`")
async def test_chat_completion_has_text_reason_and_receipt(client: AsyncOpenAI, api: Api) -> None:
    answer = await client.chat.completions.create(model="fake-1", messages=MESSAGES)
    assert answer.choices[0].message.content == WHOLE_ANSWER
    assert answer.choices[0].finish_reason == "stop"
    assert text_of(api.engine.requests[0].prompt) == "<system\nBe brief.><user\nhi><assistant\n"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.to_dict()["kv"] == {
        "device": 0,
        "cpu": 0,
        "redis": 0,
        "disk": 0,
        "computed": answer.usage.prompt_tokens,
        "restore_ms": 0.0,
        "bytes": {"cpu": 0, "redis": 0, "disk": 0},
        "blocks_verified": 0,
        "saved_ms": None,
        "phases_ms": {"queue": 0.0, "lookup": 0.0, "load": 0.0, "prefill": 0.0, "first_token": 0.0},
    }


@row("openai", "chat.completions.create(...)", "tokens from a tier are `usage.prompt_tokens_details.cached_tokens`")
async def test_tokens_from_a_tier_count_as_cached(client: AsyncOpenAI) -> None:
    for _ in range(2):
        answer = await client.chat.completions.create(model="fake-1", messages=MESSAGES)
    assert answer.usage is not None
    assert answer.usage.prompt_tokens_details is not None
    assert answer.usage.prompt_tokens_details.cached_tokens == answer.usage.prompt_tokens


@row("openai", "chat.completions.create(messages=[..., answer, ...])", "an answer that is sent back is matched to the "
     "exact tokens that were generated, so those are cached too")  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("cut", [{}, {"stop": "4"}, {"max_tokens": 3}])
async def test_answer_sent_back_is_cached(client: AsyncOpenAI, api: Api, cut: dict[str, Any], stream: bool) -> None:
    messages: list[Any] = [*MESSAGES]
    for turn in range(3):
        fields: dict[str, Any] = {"model": "fake-1", "messages": messages, "stream": stream, **cut}
        answer: Any = await client.chat.completions.create(**fields)
        if stream:
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
        else:
            text = answer.choices[0].message.content
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": f"And {turn}?"}]
    before, last = api.engine.requests[-2:]
    # A stop string cuts its token, so the text holds only the beginning of the last token.
    whole = before.produced[:-1] if "stop" in cut else before.produced
    assert last.prompt[: len(before.prompt) + len(whole)] == (*before.prompt, *whole)
    assert text_of(last.prompt).count(f"assistant\n{text}>") == 2


@row("openai", "chat.completions.create(stream_options={'include_usage': True, 'continuous_usage_stats': True})",
     "usage so far in every chunk, as in vLLM")  # fmt: skip
async def test_every_chunk_can_have_usage(client: AsyncOpenAI, api: Api) -> None:
    options: Any = {"include_usage": True, "continuous_usage_stats": True}
    stream = await client.chat.completions.create(
        model="fake-1", messages=MESSAGES, stream=True, stream_options=options
    )
    counts = [chunk.usage.completion_tokens async for chunk in stream if chunk.usage is not None]
    assert counts == [0, *range(1, ANSWER_WORDS + 1), ANSWER_WORDS + 1, ANSWER_WORDS + 1]


@row("openai", "chat.completions.create(extra_body={'return_token_ids': True})", "`prompt_token_ids`, and `token_ids` "
     "of each choice, also streamed, as in vLLM")  # fmt: skip
async def test_token_ids_are_returned(client: AsyncOpenAI, api: Api) -> None:
    asked: dict[str, Any] = {"model": "fake-1", "messages": MESSAGES, "extra_body": {"return_token_ids": True}}
    answer = await client.chat.completions.create(**asked)
    chunks = [chunk async for chunk in await client.chat.completions.create(**asked, stream=True)]
    [request, _] = api.engine.requests
    streamed = [id_ for chunk in chunks for id_ in chunk.choices[0].to_dict()["token_ids"]]
    assert answer.to_dict()["prompt_token_ids"] == chunks[0].to_dict()["prompt_token_ids"] == [*request.prompt]
    assert answer.choices[0].to_dict()["token_ids"] == streamed == [*request.produced]
    text = await client.completions.create(model="fake-1", prompt="hi", extra_body={"return_token_ids": True})
    choice = text.choices[0].to_dict()
    last = api.engine.requests[-1]
    assert (choice["prompt_token_ids"], choice["token_ids"]) == ([*last.prompt], [*last.produced])


@row("openai", "chat.completions.create(extra_body={'continue_final_message': True, ...})", "the model continues the "
     "assistant's last message, as in vLLM; sent back whole, it is found again")  # fmt: skip
async def test_last_message_is_continued(client: AsyncOpenAI, api: Api) -> None:
    body = {"continue_final_message": True, "add_generation_prompt": False}
    begun: list[Any] = [*MESSAGES, {"role": "assistant", "content": "So:"}]
    answer = await client.chat.completions.create(model="fake-1", messages=begun, extra_body=body)
    assert text_of(api.engine.requests[0].prompt) == "<system\nBe brief.><user\nhi><assistant\nSo:"
    assert answer.choices[0].message.content == WHOLE_ANSWER
    whole: Any = {"role": "assistant", "content": f"So:{WHOLE_ANSWER}"}
    second = await client.chat.completions.create(
        model="fake-1", messages=[*MESSAGES, whole, {"role": "user", "content": "And?"}]
    )
    assert second.usage is not None
    assert second.usage.prompt_tokens_details is not None
    [first, _] = api.engine.requests
    assert second.usage.prompt_tokens_details.cached_tokens == len(first.prompt) + len(first.produced)


@row("openai", "chat.completions.create(extra_body=...)", "fields that Ebb does not know are ignored, and named in "
     "`X-Ebb-Ignored`")  # fmt: skip
async def test_unknown_field_is_ignored_and_named(client: AsyncOpenAI) -> None:
    asked: dict[str, Any] = {"model": "fake-1", "messages": MESSAGES, "extra_body": {"provider_options": {}}}
    response = await client.chat.completions.with_raw_response.create(**asked)
    assert response.headers["X-Ebb-Ignored"] == "provider_options"
    assert response.parse().choices[0].message.content == WHOLE_ANSWER


@row("openai", "models.list(), models.retrieve('alias')", "an alias (`--model-alias`) has the model's name as `root`")
async def test_alias_of_the_model_is_listed_and_served(tmp_path: Path) -> None:
    aliases = ModelAliases({"gpt-4o": "fake-1", "claude-*": "fake-1"})
    async with running_server(tmp_path, ReplayEngine(), aliases=aliases) as server, client_of(server.url) as client:
        assert [model.id async for model in client.models.list()] == ["fake-1", "gpt-4o"]
        fields = (await client.models.retrieve("gpt-4o")).to_dict()
        assert (fields["root"], fields["parent"], fields["max_model_len"]) == ("fake-1", "fake-1", WINDOW)
        for name in ("gpt-4o", "claude-sonnet-5"):
            answer = await client.chat.completions.create(model=name, messages=MESSAGES)
            assert answer.model == "fake-1"
        with pytest.raises(openai.NotFoundError):
            await client.completions.create(model="gpt-4", prompt="hi")


@row("openai", "chat.completions.create(stream=True)", "the role first, the reason last, one id throughout")
async def test_streamed_chat_has_role_first_reason_last_and_one_id(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True)
    chunks = [chunk async for chunk in stream]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == WHOLE_ANSWER
    assert len({(chunk.id, chunk.created, chunk.model, chunk.object) for chunk in chunks}) == 1
    assert all(chunk.usage is None for chunk in chunks)


async def test_each_engine_step_is_sent_as_one_event_at_once(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    stream = await client.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True)
    chunks = aiter(stream)
    async with asyncio.timeout(20):
        for step in range(3):
            api.engine.allow(1)
            if step == 0:
                assert (await anext(chunks)).choices[0].delta.role == "assistant"
            assert (await anext(chunks)).choices[0].delta.content == f" w{step}"
    await stream.close()


@row("openai", "chat.completions.create(stream_options={'include_usage': True})", "usage in a separate last chunk")
async def test_requested_usage_comes_in_an_extra_chunk(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="fake-1", messages=MESSAGES, stream=True, max_tokens=2, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens == 2
    assert "kv" in last.usage.to_dict()
    assert all(chunk.usage is None for chunk in chunks)
    assert chunks[-1].choices[0].finish_reason == "length"


@row("openai", "chat.completions.create(stream=True)", "comments that keep a silent connection open are passed over")
async def test_client_ignores_keep_alive_comments(client: AsyncOpenAI, api: Api, pinged: asyncio.Event) -> None:
    api.engine.hold()
    stream = await client.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True)
    async with asyncio.timeout(20):
        await pinged.wait()
    api.engine.allow(None)
    chunks = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == WHOLE_ANSWER


@row("openai", "responses.create(stream=True)", "comments that keep a silent connection open are passed over")
async def test_responses_client_ignores_keep_alive_comments(
    client: AsyncOpenAI, api: Api, pinged: asyncio.Event
) -> None:
    api.engine.hold()
    stream = await client.responses.create(model="fake-1", input="hi", stream=True)
    async with asyncio.timeout(20):
        await pinged.wait()
    api.engine.allow(None)
    deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
    assert "".join(deltas) == WHOLE_ANSWER


@row("openai", "chat.completions.stream(...)", "events, and the whole answer at the end")
async def test_stream_helper_of_the_client_returns_the_same_answer(client: AsyncOpenAI) -> None:
    async with client.chat.completions.stream(model="fake-1", messages=MESSAGES) as stream:
        answer = await stream.get_final_completion()
    assert answer.choices[0].message.content == WHOLE_ANSWER


@row(
    "openai",
    "chat.completions.create(extra_body=...)",
    "`top_k`, `min_tokens`, `ignore_eos`, `priority`, `timeout` reach the engine",
)
async def test_extension_fields_reach_the_engine(client: AsyncOpenAI, api: Api) -> None:
    answer = await client.chat.completions.create(
        model="fake-1",
        messages=MESSAGES,
        max_completion_tokens=20,
        extra_body={"top_k": 5, "min_tokens": 2, "ignore_eos": True, "priority": 1, "timeout": 30},
    )
    params = api.engine.requests[0].params
    assert (params.top_k, params.min_tokens, params.ignore_eos, params.max_tokens) == (5, 2, True, 20)
    assert api.engine.requests[0].urgency == Urgency(1, 30.0)
    assert answer.choices[0].finish_reason == "length"


@row("openai", "chat.completions.create(stop=...)", "ends before the stop string")
async def test_stop_string_ends_the_answer_and_is_excluded(client: AsyncOpenAI) -> None:
    answer = await client.chat.completions.create(model="fake-1", messages=MESSAGES, stop=["w3"])
    assert answer.choices[0].message.content == " w0 w1 w2"
    assert answer.choices[0].finish_reason == "stop"


async def test_developer_role_becomes_system_role(client: AsyncOpenAI, api: Api) -> None:
    await client.chat.completions.create(
        model="fake-1", messages=[{"role": "developer", "content": "x"}, {"role": "user", "content": "y"}]
    )
    assert text_of(api.engine.requests[0].prompt) == "<system\nx><user\ny><assistant\n"


@row("openai", "completions.create(prompt=...)", "text, token ids, or a list of one of them")
async def test_completion_continues_text_or_token_ids(client: AsyncOpenAI, api: Api) -> None:
    of_text = await client.completions.create(model="fake-1", prompt="abc", max_tokens=4)
    of_ids = await client.completions.create(model="fake-1", prompt=[97, 98, 99], max_tokens=4)
    of_list = await client.completions.create(model="fake-1", prompt=["abc"], max_tokens=4)
    await client.completions.create(model="fake-1", prompt=[[97, 98, 99]], max_tokens=4)
    assert of_text.choices[0].text == of_ids.choices[0].text == of_list.choices[0].text == " w0 w1 w2 w3"
    assert {request.prompt for request in api.engine.requests} == {(97, 98, 99)}


@row("openai", "completions.create(stream=True)", "the same text; usage if asked for")
async def test_streamed_completion_has_the_same_text(client: AsyncOpenAI) -> None:
    stream = await client.completions.create(
        model="fake-1", prompt="abc", stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = [chunk async for chunk in stream]
    assert "".join(chunk.choices[0].text for chunk in chunks) == WHOLE_ANSWER
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.usage is not None
    assert {chunk.object for chunk in chunks} == {"text_completion"}


@row("openai", "models.list(), models.retrieve(name)", "the one model that is served, with `max_model_len`")
async def test_model_list_names_the_served_model(client: AsyncOpenAI) -> None:
    models = await client.models.list()
    assert [(model.id, model.object) for model in models.data] == [("fake-1", "model")]
    assert (await client.models.retrieve("fake-1")).to_dict()["max_model_len"] == WINDOW


@row("openai", "models.retrieve('other')", "`NotFoundError` with a message; so for `model='other'` everywhere")
async def test_unknown_model_is_not_found(client: AsyncOpenAI) -> None:
    for call in (
        client.models.retrieve("org/other"),
        client.chat.completions.create(model="other", messages=MESSAGES),
        client.completions.create(model="other", prompt="x"),
    ):
        with pytest.raises(openai.NotFoundError) as caught:
            await call
        assert caught.value.code == "model_not_found"
        assert caught.value.param == "model"


@row(
    "openai",
    "chat.completions.create(...)",
    "a field is wrong, or not supported (`audio`): `BadRequestError` with it in `param`",
)
@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"messages": [{"role": "user", "content": "x" * WINDOW}]}, "messages"),
        ({"messages": [{"role": "user", "content": "x"}, {"role": "user", "content": REFUSED}]}, "messages"),
        ({"max_completion_tokens": 0}, "max_completion_tokens"),
        ({"tools": [{"type": "foo"}]}, "tools[0].type"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"stop": ["x"] * 129}, "stop"),
        ({"temperature": -1}, "temperature"),
        ({"n": 17}, "n"),
        ({"audio": {}}, "audio"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"top_logprobs": 3}, "top_logprobs"),
    ],
    ids=[
        "window",
        "template",
        "max_completion_tokens",
        "tools",
        "role",
        "stop",
        "temperature",
        "n",
        "audio",
        "response_format",
        "top_logprobs",
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_invalid_request_is_refused_at_once_naming_the_field(
    client: AsyncOpenAI, fields: dict[str, Any], param: str, stream: bool
) -> None:
    body = {"model": "fake-1", "messages": MESSAGES, "stream": stream, **fields}
    begin = asyncio.get_running_loop().time()
    with pytest.raises(openai.BadRequestError) as caught:
        await client.post("/chat/completions", body=body, cast_to=object)
    assert caught.value.param == param
    assert caught.value.type == "invalid_request_error"
    assert asyncio.get_running_loop().time() - begin < 1


async def test_huge_prompt_is_refused_after_tokenizing_its_start(client: AsyncOpenAI, api: Api) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(model="fake-1", prompt="x" * 3_000_000)
    assert (caught.value.param, caught.value.code) == ("prompt", "context_length_exceeded")
    assert api.engine.tokenizer.longest < 30_000


async def test_completion_prompt_beyond_the_window_is_refused(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.completions.create(model="fake-1", prompt="x" * WINDOW)
    assert caught.value.param == "prompt"


@row("openai", "chat.completions.create(stream=True)", "an engine that fails half-way raises `APIError`")
async def test_engine_failure_ends_stream_with_error_event(client: AsyncOpenAI) -> None:
    stream = await client.chat.completions.create(
        model="fake-1", messages=[{"role": "user", "content": FAILING}], stream=True
    )
    received = ""

    async def read() -> None:
        nonlocal received
        async for chunk in stream:
            received += chunk.choices[0].delta.content or ""

    with pytest.raises(openai.APIError, match="failed"):
        await read()
    assert received == " w0 w1 w2"


@row("openai", "chat.completions.create(...)", "an engine that fails raises `InternalServerError`")
async def test_engine_failure_is_a_server_error_without_stream(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await client.chat.completions.create(model="fake-1", messages=[{"role": "user", "content": FAILING}])
    assert caught.value.status_code == 500
    assert caught.value.type == "server_error"


@row("openai", "chat.completions.create(stream=True)", "a server that stops half-way raises `APIError`")
async def test_server_stop_ends_stream_with_error_event(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    asking = asyncio.create_task(client.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True))
    await api.engine.until_running(1)
    stream = await asking
    await api.engine.stop(0)
    received = []
    with pytest.raises(openai.APIError, match="stopping"):
        received += [chunk async for chunk in stream]


@row("openai", "stream.close()", "the request leaves the engine")
async def test_closing_the_stream_aborts_the_request(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    asking = asyncio.create_task(client.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True))
    await api.engine.until_running(1)
    api.engine.allow(1)
    stream = await asking
    await anext(aiter(stream))
    await stream.close()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 1}


async def test_partial_answer_sent_back_is_recognised(client: AsyncOpenAI, api: Api) -> None:
    api.engine.hold()
    asking = asyncio.create_task(client.chat.completions.create(model="fake-1", messages=MESSAGES, stream=True))
    await api.engine.until_running(1)
    api.engine.allow(3)
    stream, text = await asking, ""
    async for chunk in stream:
        text += chunk.choices[0].delta.content or ""
        if text == " w0 w1 w2":
            break
    await stream.close()
    await api.engine.until_running(0)
    api.engine.allow(None)
    messages: list[Any] = [*MESSAGES, {"role": "assistant", "content": text}, {"role": "user", "content": "Why?"}]
    await client.chat.completions.create(model="fake-1", messages=messages)
    before, last = api.engine.requests
    assert last.prompt[: len(before.prompt) + 3] == (*before.prompt, *before.produced)


@row("openai", "chat.completions.create(...)", "too many wait: `RateLimitError` with `Retry-After`")
async def test_full_queue_is_a_rate_limit_error(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(max_waiting=0)) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="fake-1", messages=MESSAGES)
        assert caught.value.response.headers["Retry-After"] == "3"
