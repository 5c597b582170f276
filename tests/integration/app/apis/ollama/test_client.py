"""Compatibility with Ollama's own client: one test for each row of docs/reference/api."""

import asyncio
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from ollama import AsyncClient, ChatResponse, ResponseError

from engine.api.urgency import Urgency
from engine.testing.byte_tokenizer import END, text_of
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
HI: list[Any] = [{"role": "user", "content": "hi"}]
FAIL: list[Any] = [{"role": "user", "content": FAILING}]


@pytest.fixture
async def client(api: Api) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(host=api.url) as client:
        yield client


async def said(parts: AsyncIterator[ChatResponse]) -> tuple[str, ChatResponse]:
    """Read a stream to its end, and return its text and its last part."""
    received = [part async for part in parts]
    return "".join(part.message.content or "" for part in received), received[-1]


@row("ollama", "chat(...)", "text, reason, counts of tokens, durations; the receipt is in `kv`")
async def test_chat_has_text_reason_and_counts(client: AsyncClient, api: Api) -> None:
    answer = await client.chat("fake-1", HI)
    assert (answer.message.role, answer.message.content) == ("assistant", WHOLE_ANSWER)
    assert (answer.model, answer.done, answer.done_reason) == ("fake-1", True, "stop")
    assert answer.prompt_eval_count == len(api.engine.requests[0].prompt)
    assert answer.eval_count == ANSWER_WORDS + 1
    assert answer.total_duration == 10_000_000
    assert answer["message"]["content"] == WHOLE_ANSWER


@row("ollama", "chat(stream=True)", "the same text in parts, the figures with the last one")
async def test_stream_has_the_same_text_and_figures_last(client: AsyncClient) -> None:
    text, last = await said(await client.chat("fake-1", HI, stream=True))
    assert text == WHOLE_ANSWER
    assert (last.done, last.done_reason, last.eval_count) == (True, "stop", ANSWER_WORDS + 1)


@row("ollama", "chat(stream=True)", "spaces that keep a silent connection open are passed over")
async def test_client_ignores_keep_alive_spaces(client: AsyncClient, api: Api, pinged: asyncio.Event) -> None:
    api.engine.hold()
    reading = asyncio.create_task(said(await client.chat("fake-1", HI, stream=True)))
    async with asyncio.timeout(20):
        await pinged.wait()
    api.engine.allow(None)
    assert (await reading)[0] == WHOLE_ANSWER


@row("ollama", "chat(messages=[..., answer, ...])", "an answer that is sent back is matched to the exact tokens that "
     "were generated, so those are cached too")  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("options", [{}, {"num_predict": 3}])
async def test_answer_sent_back_is_cached(client: AsyncClient, api: Api, options: dict[str, Any], stream: bool) -> None:
    history: list[Any] = [{"role": "system", "content": "Be brief."}, *HI]
    for turn in range(3):
        if stream:
            text, _ = await said(await client.chat("fake-1", history, options=options, stream=True))
            history.append({"role": "assistant", "content": text})
        else:
            history.append((await client.chat("fake-1", history, options=options)).message)
        history.append({"role": "user", "content": f"And {turn}?"})
    before, last = api.engine.requests[-2:]
    assert last.prompt[: len(before.prompt) + len(before.produced)] == (*before.prompt, *before.produced)


@row("ollama", "chat(options={...})", "`temperature`, `top_p`, `top_k`, `min_p`, `seed`, `stop`, `num_predict` and the "
     "penalties reach the engine; options about the way in which Ollama runs a model have no effect")  # fmt: skip
async def test_options_reach_the_engine(client: AsyncClient, api: Api) -> None:
    options = {"temperature": 0.5, "top_k": 7, "seed": 11, "num_predict": 9, "repeat_penalty": 1.5, "stop": ["w3"]}
    answer = await client.chat("fake-1", HI, options={**options, "num_ctx": 8, "num_gpu": 1}, keep_alive="5m")
    assert (answer.message.content, answer.done_reason) == (" w0 w1 w2", "stop")
    params = api.engine.requests[0].params
    assert (params.temperature, params.top_k, params.seed, params.max_tokens) == (0.5, 7, 11, 9)
    assert (params.repetition_penalty, params.stop) == (1.5, ("w3",))
    assert api.engine.requests[0].urgency == Urgency(0, None)


@row("ollama", "chat(options={'num_predict': ...})", "-1, -2 and more than the window leaves all end with the window")
async def test_open_answers_end_with_the_window(client: AsyncClient, api: Api) -> None:
    for limit in (-1, -2, 2 * WINDOW):
        answer = await client.chat("fake-1", HI, options={"num_predict": limit})
        assert answer.message.content == WHOLE_ANSWER
    room = WINDOW - len(api.engine.requests[0].prompt)
    assert [request.params.max_tokens for request in api.engine.requests] == [room] * 3


@row("ollama", "chat(logprobs=True, top_logprobs=2)", "of each token: its text and logprob; also streamed")
async def test_logprobs_have_text_and_alternatives(client: AsyncClient) -> None:
    answer = await client.chat("fake-1", HI, logprobs=True, top_logprobs=2)
    assert answer.logprobs is not None
    assert [each.token for each in answer.logprobs] == [f" w{i}" for i in range(ANSWER_WORDS)]
    assert [len(each.top_logprobs or ()) for each in answer.logprobs] == [2] * ANSWER_WORDS
    parts = [part async for part in await client.chat("fake-1", HI, logprobs=True, stream=True)]
    assert [each.token for part in parts for each in part.logprobs or ()] == [each.token for each in answer.logprobs]


@row("ollama", "generate(prompt=..., system=...)", "the answer to one prompt, also streamed")
async def test_generate_answers_one_prompt(client: AsyncClient, api: Api) -> None:
    answer = await client.generate("fake-1", "hi", system="Be brief.")
    assert (answer.response, answer.done_reason, answer.eval_count) == (WHOLE_ANSWER, "stop", ANSWER_WORDS + 1)
    parts = [part async for part in await client.generate("fake-1", "hi", stream=True)]
    assert "".join(part.response or "" for part in parts) == WHOLE_ANSWER
    assert text_of(api.engine.requests[0].prompt) == "<system\nBe brief.><user\nhi><assistant\n"


@row("ollama", "generate(prompt=..., raw=True)", "continues the prompt without the template")
async def test_raw_prompt_bypasses_the_template(client: AsyncClient, api: Api) -> None:
    await client.generate("fake-1", "a<|end|>b", raw=True)
    assert text_of(api.engine.requests[0].prompt) == "a>b"


@row("ollama", "chat(), generate()", "without messages or a prompt: the model is loaded, `done_reason` is `load`")
async def test_model_is_always_loaded(client: AsyncClient, api: Api) -> None:
    assert (await client.chat("fake-1")).done_reason == "load"
    assert (await client.generate("fake-1", keep_alive=0)).done_reason == "load"
    assert api.engine.requests == []


@row("ollama", "list(), ps(), show(name)", "the one model that is served, with or without the tag `:latest`")
async def test_model_is_listed_and_shown(client: AsyncClient) -> None:
    [listed] = (await client.list()).models
    [loaded] = (await client.ps()).models
    assert listed.model == loaded.model == "fake-1:latest"
    assert (listed.digest, loaded.context_length) == (loaded.digest, WINDOW)
    assert listed.modified_at is not None
    for name in ("fake-1", listed.model):
        shown = await client.show(name)
        assert shown.capabilities == ["completion", "tools"]
        assert shown.modelinfo is not None
        assert shown.modelinfo["unknown.context_length"] == WINDOW
        assert (await client.chat(name, HI)).model == name


@row("ollama", "chat('other', ...)", "`ResponseError` with status 404; so for `generate` and `show`")
async def test_unknown_model_is_not_found(client: AsyncClient) -> None:
    for call in (client.chat("other", HI), client.generate("other", "hi"), client.show("other")):
        with pytest.raises(ResponseError, match="other") as caught:
            await call
        assert caught.value.status_code == 404


@row("ollama", "chat(...)", "not supported, or wrong: `ResponseError` with status 400 that names the field")
async def test_unsupported_field_is_refused_by_name(client: AsyncClient) -> None:
    for call, name in (
        (client.chat("fake-1", HI, options={"temperature": -1}), "options.temperature"),
        (client.chat("fake-1", HI, think=True), "think"),
        (client.generate("fake-1", "hi", suffix="x"), "suffix"),
        (client.generate("fake-1", "hi", template="x"), "template"),
        (client.generate("fake-1", "hi", context=[1]), "context"),
    ):
        with pytest.raises(ResponseError) as caught:
            await call
        assert caught.value.status_code == 400
        assert name in caught.value.error


@row("ollama", "chat(stream=True)", "an engine that fails half-way raises `ResponseError`")
async def test_engine_failure_during_a_stream_raises(client: AsyncClient) -> None:
    received = ""

    async def read() -> None:
        nonlocal received
        async for part in await client.chat("fake-1", FAIL, stream=True):
            received += part.message.content or ""

    with pytest.raises(ResponseError, match="The model failed on this request"):
        await read()
    assert received == " w0 w1 w2"


@row("ollama", "chat(...)", "an engine that fails raises `ResponseError` with status 500")
async def test_engine_failure_is_a_server_error(client: AsyncClient) -> None:
    with pytest.raises(ResponseError) as caught:
        await client.chat("fake-1", FAIL)
    assert caught.value.status_code == 500


@row("ollama", "chat(...)", "too many wait: `ResponseError` with status 429")
async def test_full_queue_is_refused(tmp_path: Path) -> None:
    async with (
        running_server(tmp_path, ReplayEngine(max_waiting=0)) as server,
        AsyncClient(host=server.url) as client,
    ):
        with pytest.raises(ResponseError) as caught:
            await client.chat("fake-1", HI)
        assert caught.value.status_code == 429


@row("ollama", "aclose() of a stream", "the request leaves the engine")
async def test_closing_the_stream_aborts_the_request(client: AsyncClient, api: Api) -> None:
    api.engine.hold()
    stream: Any = await client.chat("fake-1", HI, stream=True)
    first = asyncio.create_task(anext(stream))
    await api.engine.until_running(1)
    api.engine.allow(1)
    assert (await first).message.content == " w0"
    await stream.aclose()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 1}


@row("ollama", "pull(name), ...", "not there: `ResponseError` with status 400 and the reason")
async def test_routes_of_a_model_store_are_refused(client: AsyncClient) -> None:
    for call in (
        client.pull("fake-1"),
        client.push("fake-1"),
        client.create("mine", from_="fake-1"),
        client.copy("fake-1", "mine"),
        client.delete("fake-1"),
    ):
        with pytest.raises(ResponseError, match="is not supported: the models are those of the settings") as caught:
            await call
        assert caught.value.status_code == 400


@row("ollama", "embed(input=...)", "vectors of length 1 for a text or a list of texts; the end of a long text is cut")
async def test_embed_returns_unit_vectors_and_counts(client: AsyncClient, api: Api) -> None:
    both = await client.embed("fake-1:latest", ["sea", "see the sea"])
    assert [len(vector) for vector in both.embeddings] == [3, 3]
    assert [math.hypot(*vector) for vector in both.embeddings] == pytest.approx([1, 1])
    assert (both.model, both.prompt_eval_count) == ("fake-1:latest", len("sea") + len("see the sea"))
    assert (await client.embed("fake-1", "sea")).embeddings == both.embeddings[:1]
    assert (await client.embed("fake-1", "s" * (WINDOW + 9))).prompt_eval_count == WINDOW
    before = len(api.engine.requests)
    await client.embed("fake-1", "s" * WINDOW + "<|end|>")
    assert len(api.engine.requests) == before + 1
    assert api.engine.requests[-1].prompt == (*b"s" * (WINDOW - 1), END)
    assert (await client.embed("fake-1", "")).embeddings == []
    assert (await client.embeddings("fake-1", "sea")).embedding == both.embeddings[0]


@row(
    "ollama",
    "embed(truncate=False), embed(dimensions=...)",
    "a text that is too long, or another number of values: 400",
)
async def test_embed_refuses_what_the_model_cannot_do(client: AsyncClient) -> None:
    for fields, reason in (
        ({"truncate": False}, "maximum context length"),
        ({"dimensions": 2}, "embeddings have 3 values"),
    ):
        with pytest.raises(ResponseError, match=reason) as caught:
            await client.embed("fake-1", ["sea", "s" * (WINDOW + 1)], **fields)
        assert caught.value.status_code == 400
