"""Compatibility with Anthropic's own client: one test for each row of docs/reference/api."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anthropic
import pytest
from anthropic import AsyncAnthropic

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, WINDOW, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer, running_server
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
HI: Any = [{"role": "user", "content": "hi"}]
FAIL: Any = [{"role": "user", "content": FAILING}]


def client_of(url: str) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=url, api_key="none", max_retries=0)


@pytest.fixture
async def client(api: Api) -> AsyncIterator[AsyncAnthropic]:
    async with client_of(api.url) as client:
        yield client


@row("anthropic", "messages.create(...)", "one block of text, `end_turn`, usage with the receipt in `usage.kv`")
async def test_message_has_text_stop_reason_and_receipt(client: AsyncAnthropic) -> None:
    answer = await client.messages.create(model="fake-1", max_tokens=100, messages=HI)
    assert [block.type for block in answer.content] == ["text"]
    assert answer.content[0].to_dict()["text"] == WHOLE_ANSWER
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert answer.usage.output_tokens == ANSWER_WORDS + 1
    assert answer.usage.to_dict()["kv"]
    assert answer._request_id is not None


@row("anthropic", "messages.create(...)", "tokens from a tier are `usage.cache_read_input_tokens`, not `input_tokens`")
async def test_tokens_from_a_tier_count_as_cache_reads(client: AsyncAnthropic, api: Api) -> None:
    for _ in range(2):
        answer = await client.messages.create(model="fake-1", max_tokens=100, messages=HI)
    assert answer.usage.cache_read_input_tokens == len(api.engine.requests[0].prompt)
    assert (answer.usage.input_tokens, answer.usage.cache_creation_input_tokens) == (0, 0)


@row("anthropic", "messages.create(messages=[..., answer, ...])", "an answer that is sent back is matched to the "
     "exact tokens that were generated, so those are cached too")  # fmt: skip
async def test_answer_sent_back_is_cached(client: AsyncAnthropic, api: Api) -> None:
    first = await client.messages.create(model="fake-1", max_tokens=100, messages=HI)
    history: Any = [*HI, {"role": "assistant", "content": first.content}, *HI]
    counted = await client.messages.count_tokens(model="fake-1", messages=history)
    second = await client.messages.create(model="fake-1", max_tokens=100, messages=history)
    [before, last] = api.engine.requests
    assert second.usage.cache_read_input_tokens == len(before.prompt) + len(before.produced)
    assert counted.input_tokens == len(last.prompt)


@row("anthropic", "messages.create(system=..., messages=[...])", "text or blocks of text; `cache_control` "
     "changes no answer, and [ranks blocks](../../decisions/eviction.md#marks-of-clients)")  # fmt: skip
async def test_cache_control_marks_the_prompt_up_to_its_block(client: AsyncAnthropic, api: Api) -> None:
    cached: Any = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    first = await client.messages.create(model="fake-1", max_tokens=100, system="Be brief.", messages=HI)
    history: Any = [*HI, {"role": "assistant", "content": first.content}, *HI]
    await client.messages.create(model="fake-1", max_tokens=100, system=[cached], messages=history)
    first_prompt, prompt = [text_of(request.prompt) for request in api.engine.requests]
    assert prompt == f"{first_prompt}{WHOLE_ANSWER}><user\nhi><assistant\n"
    unmarked, marked = [request.num_marked for request in api.engine.requests]
    assert unmarked == 0 < marked < len(prompt) / 2


@row("anthropic", "messages.create(stop_sequences=[...])", "`stop_sequence`, and which it was")
async def test_stop_sequence_that_ended_the_answer_is_reported(client: AsyncAnthropic) -> None:
    answer = await client.messages.create(model="fake-1", max_tokens=100, messages=HI, stop_sequences=["x", "w3"])
    assert answer.content[0].to_dict()["text"] == " w0 w1 w2"
    assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "w3")


@row("anthropic", "messages.create(max_tokens=...)", "`max_tokens`; more than the window leaves is not an error: "
     "`model_context_window_exceeded`")  # fmt: skip
async def test_max_tokens_beyond_the_window_is_accepted(client: AsyncAnthropic) -> None:
    cut = await client.messages.create(model="fake-1", max_tokens=2, messages=HI)
    assert (cut.stop_reason, cut.usage.output_tokens) == ("max_tokens", 2)
    large = await client.messages.create(
        model="fake-1", max_tokens=2 * WINDOW, messages=HI, extra_body={"ignore_eos": True}
    )
    assert large.stop_reason == "model_context_window_exceeded"
    assert large.usage.input_tokens + (large.usage.cache_read_input_tokens or 0) + large.usage.output_tokens == WINDOW


@row("anthropic", "messages.create(extra_body={'temperature': ..., 'top_p': ..., 'top_k': ...})", "reach the engine")
async def test_sampling_fields_reach_the_engine(client: AsyncAnthropic, api: Api) -> None:
    sampling = {"temperature": 0.5, "top_p": 0.9, "top_k": 7}
    await client.messages.create(model="fake-1", max_tokens=9, messages=HI, extra_body=sampling)
    params = api.engine.requests[0].params
    assert (params.temperature, params.top_p, params.top_k) == (0.5, 0.9, 7)


@row("anthropic", "messages.create(stream=True)", "the events of this API in their order")
async def test_stream_events_come_in_anthropics_order(client: AsyncAnthropic) -> None:
    stream = await client.messages.create(model="fake-1", max_tokens=2, messages=HI, stream=True)
    kinds: list[str] = [event.type async for event in stream]
    assert [kind for kind in kinds if kind != "ping"] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@row("anthropic", "messages.create(stream=True)", "comments that keep a silent connection open are passed over")
async def test_client_ignores_keep_alive_comments(client: AsyncAnthropic, api: Api, pinged: asyncio.Event) -> None:
    api.engine.hold()
    stream = await client.messages.create(model="fake-1", max_tokens=100, messages=HI, stream=True)
    async with asyncio.timeout(20):
        await pinged.wait()
    api.engine.allow(None)
    deltas = [event.delta.to_dict() async for event in stream if event.type == "content_block_delta"]
    assert "".join(str(delta["text"]) for delta in deltas) == WHOLE_ANSWER


@row("anthropic", "messages.stream(...)", "`text_stream`, and the whole message with all usage at the end")
async def test_stream_helper_returns_text_and_usage(client: AsyncAnthropic) -> None:
    for _ in range(2):
        async with client.messages.stream(model="fake-1", max_tokens=100, messages=HI) as stream:
            text = "".join([text async for text in stream.text_stream])
            answer = await stream.get_final_message()
        assert text == answer.content[0].to_dict()["text"] == WHOLE_ANSWER
        assert answer.stop_reason == "end_turn"
        assert answer.usage.output_tokens == ANSWER_WORDS + 1
    assert (answer.usage.input_tokens, answer.usage.cache_creation_input_tokens) == (0, 0)
    assert answer.usage.cache_read_input_tokens


@row("anthropic", "stream.close()", "the request leaves the engine")
async def test_closing_the_stream_aborts_the_request(client: AsyncAnthropic, api: Api) -> None:
    api.engine.hold()
    asking = asyncio.create_task(client.messages.create(model="fake-1", max_tokens=9, messages=HI, stream=True))
    await api.engine.until_running(1)
    api.engine.allow(1)
    stream = await asking
    await anext(aiter(stream))
    await stream.close()
    await api.engine.until_running(0)
    assert api.engine.finished == {"abort": 1}


@row("anthropic", "messages.create(stream=True)", "an engine that fails half-way raises `APIStatusError`")
async def test_engine_failure_during_a_stream_raises(client: AsyncAnthropic) -> None:
    stream = await client.messages.create(model="fake-1", max_tokens=100, messages=FAIL, stream=True)
    received = []
    with pytest.raises(anthropic.APIStatusError, match="The model failed on this request"):
        received += [event async for event in stream]


@row("anthropic", "messages.create(...)", "an engine that fails raises `InternalServerError`")
async def test_engine_failure_raises_internal_server_error(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.InternalServerError) as caught:
        await client.messages.create(model="fake-1", max_tokens=100, messages=FAIL)
    assert caught.value.status_code == 500


@row("anthropic", "messages.count_tokens(...)", "the length of the prompt, all of its template counted")
async def test_token_count_equals_prompt_length(client: AsyncAnthropic, api: Api) -> None:
    counted = await client.messages.count_tokens(model="fake-1", messages=HI, system="Be brief.")
    await client.messages.create(model="fake-1", max_tokens=1, messages=HI, system="Be brief.")
    assert counted.input_tokens == len(api.engine.requests[0].prompt)


@row("anthropic", "messages.create(...)", "not supported: `BadRequestError` that names the field")
async def test_unsupported_field_is_refused_by_name(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match="compaction"):
        await client.messages.create(model="fake-1", max_tokens=9, messages=HI, extra_body={"compaction": {}})


@row("anthropic", "messages.create(thinking={'type': 'enabled', ...})", "no effect where the model does not think")
async def test_thinking_is_a_hint_to_models_that_do_not(client: AsyncAnthropic) -> None:
    answer = await client.messages.create(
        model="fake-1", max_tokens=9, messages=HI, thinking={"type": "enabled", "budget_tokens": 1024}
    )
    assert [block.type for block in answer.content] == ["text"]


@row("anthropic", "beta.messages.create(messages=[..., {'role': 'system', 'clear_at': ...}])", "with "
     "`next_user_message`, the message leaves the prompt once one of the user, or a result, follows it")  # fmt: skip
async def test_note_for_one_turn_leaves_the_next_prompt(client: AsyncAnthropic, api: Api) -> None:
    note: Any = {"role": "system", "content": "It is noon.", "clear_at": "next_user_message"}
    answer: Any = {"role": "assistant", "content": "yes"}
    betas = ["mid-conversation-system-clear-at-2026-08-21"]
    await client.beta.messages.create(model="fake-1", max_tokens=1, messages=[*HI, note, answer, *HI], betas=betas)
    assert text_of(api.engine.requests[0].prompt) == "<user\nhi><assistant\nyes><user\nhi><assistant\n"


@row("anthropic", "beta.messages.thread(...)", "a thread that is continued is reported as lost, and the client sends "
     "all messages again")  # fmt: skip
async def test_thread_is_continued_with_all_messages(client: AsyncAnthropic, api: Api) -> None:
    thread = client.beta.messages.thread(model="fake-1", max_tokens=100)
    for text in ("one", "two", "three"):
        answer = await thread.send({"role": "user", "content": text})
        assert answer.content[0].to_dict()["text"] == WHOLE_ANSWER
    turns = "".join(f"<user\n{text}><assistant\n{WHOLE_ANSWER}>" for text in ("one", "two"))
    assert [text_of(request.prompt) for request in api.engine.requests][-1] == f"{turns}<user\nthree><assistant\n"
    assert len(api.engine.requests) == 3


@row("anthropic", "messages.create(model='other')", "`NotFoundError`")
async def test_unknown_model_raises_not_found(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.NotFoundError) as caught:
        await client.messages.create(model="other", max_tokens=9, messages=HI)
    assert caught.value.request_id is not None


@row("anthropic", "messages.create(...)", "too many wait: `RateLimitError` with `Retry-After`")
async def test_full_queue_raises_rate_limit_error(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(max_waiting=0)) as server, client_of(server.url) as client:
        with pytest.raises(anthropic.RateLimitError) as caught:
            await client.messages.create(model="fake-1", max_tokens=9, messages=HI)
        assert caught.value.response.headers["Retry-After"] == "3"


@row(
    "anthropic",
    "messages.create(...)",
    "while the server starts or stops: `ServiceUnavailableError`, `overloaded_error`",
)
async def test_starting_server_raises_service_unavailable(tmp_path: Path) -> None:
    async with running_server(tmp_path, ReplayEngine(), ready=False) as server, client_of(server.url) as client:
        with pytest.raises(anthropic.ServiceUnavailableError) as caught:
            await client.messages.create(model="fake-1", max_tokens=9, messages=HI)
        assert caught.value.type == "overloaded_error"


@row("anthropic", "beta.messages.create(betas=[...])", "as without `betas`")
async def test_beta_client_gets_the_same_answer(client: AsyncAnthropic) -> None:
    answer = await client.beta.messages.create(model="fake-1", max_tokens=100, messages=HI, betas=["some-beta"])
    assert answer.content[0].to_dict()["text"] == WHOLE_ANSWER


@row("anthropic", "messages.create(messages=[..., {'role': 'assistant', ...}])", "the model continues the last message "
     "(prefill); sent back whole, it is found again")  # fmt: skip
async def test_prefilled_answer_is_continued(client: AsyncAnthropic, api: Api) -> None:
    begun: Any = [*HI, {"role": "assistant", "content": "So:"}]
    counted = await client.messages.count_tokens(model="fake-1", messages=begun)
    answer = await client.messages.create(model="fake-1", max_tokens=100, messages=begun)
    [first] = api.engine.requests
    assert (text_of(first.prompt), counted.input_tokens) == ("<user\nhi><assistant\nSo:", len(first.prompt))
    assert answer.content[0].to_dict()["text"] == WHOLE_ANSWER
    history: Any = [*HI, {"role": "assistant", "content": f"So:{WHOLE_ANSWER}"}, *HI]
    second = await client.messages.create(model="fake-1", max_tokens=100, messages=history)
    assert second.usage.cache_read_input_tokens == len(first.prompt) + len(first.produced)


@row("anthropic", "messages.create(...)", "a prompt that is too long: `BadRequestError`, `prompt is too long: N "
     "tokens > M maximum`")  # fmt: skip
async def test_too_long_prompt_is_refused_in_anthropics_words(client: AsyncAnthropic) -> None:
    with pytest.raises(anthropic.BadRequestError, match=rf"prompt is too long: \d+ tokens > {WINDOW} maximum"):
        await client.messages.create(model="fake-1", max_tokens=9, messages=[{"role": "user", "content": "x" * WINDOW}])


@row("anthropic", "models.list(), models.retrieve(name)", "the one model that is served")
async def test_models_list_the_served_model(client: AsyncAnthropic) -> None:
    models = [model async for model in client.models.list()]
    assert [(model.id, model.type, model.display_name) for model in models] == [("fake-1", "model", "fake-1")]
    model = await client.models.retrieve("fake-1")
    assert model.created_at.year >= 2024
    assert (model.lifecycle, model.max_input_tokens, model.max_tokens) == ("active", WINDOW, WINDOW)
