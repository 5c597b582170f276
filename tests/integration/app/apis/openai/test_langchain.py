"""Compatibility with LangChain's models: one test for each row of docs/reference/api."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import SecretStr

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import FAILING, ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer
from tests.integration.compatibility import row

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))


class Models:
    """Factory of models of one server. The models share a connection pool, which the fixture closes."""

    def __init__(self, url: str, pool: openai.DefaultAsyncHttpxClient) -> None:
        self._fields: dict[str, Any] = {
            "base_url": f"{url}/v1",
            "api_key": SecretStr("none"),
            "model": "fake-1",
            "max_retries": 0,
            "http_async_client": pool,
        }

    def chat(self, **fields: Any) -> ChatOpenAI:
        return ChatOpenAI(**self._fields, **fields)

    def completion(self) -> OpenAI:
        return OpenAI(**self._fields)


@pytest.fixture
async def models(api: Api) -> AsyncIterator[Models]:
    async with openai.DefaultAsyncHttpxClient() as pool:
        yield Models(api.url, pool)


async def streamed(model: ChatOpenAI, question: str = "hi") -> AIMessageChunk:
    chunks = [chunk async for chunk in model.astream(question)]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    return whole


@row("langchain-openai", "ChatOpenAI(...).ainvoke(...)", "text, reason, usage")
async def test_invoke_returns_text_reason_and_usage(models: Models, api: Api) -> None:
    answer = await models.chat().ainvoke([SystemMessage("Be brief."), HumanMessage("hi")])
    assert answer.content == WHOLE_ANSWER
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == ANSWER_WORDS + 1
    assert text_of(api.engine.requests[0].prompt) == "<system\nBe brief.><user\nhi><assistant\n"


@row("langchain-openai", "ChatOpenAI(...).ainvoke(...)", "tokens from a tier are `input_token_details.cache_read`")
async def test_tokens_from_a_tier_count_as_cache_reads(models: Models) -> None:
    for _ in range(2):
        answer = await models.chat().ainvoke("hi")
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_token_details"]["cache_read"] == answer.usage_metadata["input_tokens"]


@row("langchain-openai", "ChatOpenAI(...).ainvoke([..., answer, ...])", "an answer that is sent back is matched to the "
     "exact tokens that were generated, so those are cached too")  # fmt: skip
async def test_answer_sent_back_is_cached(models: Models, api: Api) -> None:
    first = await models.chat().ainvoke([HumanMessage("hi")])
    second = await models.chat().ainvoke([HumanMessage("hi"), first, HumanMessage("and?")])
    before = api.engine.requests[0]
    assert second.usage_metadata is not None
    assert second.usage_metadata["input_token_details"]["cache_read"] == len(before.prompt) + len(before.produced)


@row("langchain-openai", "ChatOpenAI(stream_usage=True).astream(...)", "chunks that add up, with usage")
async def test_stream_chunks_add_up_with_usage(models: Models) -> None:
    whole = await streamed(models.chat(stream_usage=True))
    assert whole.content == WHOLE_ANSWER
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == ANSWER_WORDS + 1


@row("langchain-openai", "ChatOpenAI(max_tokens=..., stop=..., temperature=..., seed=...)", "reach the engine")
async def test_sampling_fields_reach_the_engine(models: Models, api: Api) -> None:
    model = models.chat(max_tokens=5, stop=["w3"], temperature=0.5, seed=3)
    assert (await model.ainvoke("hi")).content == " w0 w1 w2"
    params = api.engine.requests[0].params
    assert (params.max_tokens, params.stop, params.temperature, params.seed) == (5, ("w3",), 0.5, 3)


@row("langchain-openai", "ChatOpenAI(...).abatch([...])", "one answer per question")
async def test_batch_answers_each_question(models: Models) -> None:
    answers = await models.chat().abatch(["one", "two", "three"])
    assert [answer.content for answer in answers] == [WHOLE_ANSWER] * 3


@row("langchain-openai", "ChatOpenAI(...).astream(...)", "an engine that fails half-way raises `openai.APIError`")
async def test_engine_failure_during_a_stream_raises(models: Models) -> None:
    with pytest.raises(openai.APIError, match="The model failed on this request"):
        await streamed(models.chat(), FAILING)


@row("langchain-openai", "OpenAI(...).ainvoke(...)", "the text of a completion")
async def test_completion_model_returns_text(models: Models) -> None:
    assert await models.completion().ainvoke("hi") == WHOLE_ANSWER


@row("langchain-openai", "ChatOpenAI(use_responses_api=True).ainvoke(...)", "text and usage")
async def test_responses_model_returns_text_and_usage(models: Models) -> None:
    answer = await models.chat(use_responses_api=True).ainvoke([SystemMessage("Be brief."), HumanMessage("hi")])
    assert answer.text == WHOLE_ANSWER
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["output_tokens"] == ANSWER_WORDS + 1
    assert answer.response_metadata["id"].startswith("resp_")


@row("langchain-openai", "ChatOpenAI(use_responses_api=True).astream(...)", "chunks that add up, with usage")
async def test_responses_stream_chunks_add_up_with_usage(models: Models) -> None:
    whole = await streamed(models.chat(use_responses_api=True))
    assert whole.text == WHOLE_ANSWER
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == ANSWER_WORDS + 1


@row("langchain-openai", "ChatOpenAI(use_previous_response_id=True).ainvoke([..., answer, ...])",
     "sends only the messages after the last answer; everything before them is cached")  # fmt: skip
async def test_previous_response_id_sends_only_new_messages(models: Models, api: Api) -> None:
    model = models.chat(use_responses_api=True, use_previous_response_id=True)
    first = await model.ainvoke([HumanMessage("hi")])
    second = await model.ainvoke([HumanMessage("hi"), first, HumanMessage("and?")])
    before, after = api.engine.requests
    told = (*before.prompt, *before.produced)
    assert after.prompt[: len(told)] == told
    assert text_of(after.prompt[len(told) :]) == "<user\nand?><assistant\n"
    assert second.usage_metadata is not None
    assert second.usage_metadata["input_token_details"]["cache_read"] == len(told)
