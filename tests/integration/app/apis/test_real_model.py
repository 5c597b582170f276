"""Clients on the real engine with the default model: Anthropic's, several answers to OpenAI's, and tokenization."""

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jinja2
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from engine.loop.async_llm import AsyncLLMEngine
from engine.wiring.build import build_engine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.engine_rig import engine_config

Api = RunningServer[AsyncLLMEngine]

QUESTION: Any = [{"role": "user", "content": "Tell me about rivers and the sea, please. " * 10}]


@pytest.fixture
async def real_api(shallow_model: Path, tmp_path: Path) -> AsyncIterator[Api]:
    config = engine_config(shallow_model, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server


async def test_anthropic_message_is_counted_cached_and_stopped(real_api: Api) -> None:
    async with AsyncAnthropic(base_url=real_api.url, api_key="none", max_retries=0) as client:
        counted = await client.messages.count_tokens(model="smollm2", messages=QUESTION)
        fields: dict[str, Any] = {"model": "smollm2", "max_tokens": 24, "messages": QUESTION}
        fields["extra_body"] = {"temperature": 0}
        first = await client.messages.create(**fields)
        assert first.usage.input_tokens == counted.input_tokens
        assert first.usage.cache_read_input_tokens == 0
        [block] = first.content
        assert block.type == "text"
        word = block.text[12:18]
        async with client.messages.stream(**fields, stop_sequences=["not in there", word]) as stream:
            events = [event async for event in stream]
            again = await stream.get_final_message()
        text = "".join(event.text for event in events if event.type == "text")
        [begun] = [event.message.usage for event in events if event.type == "message_start"]
        assert (begun.cache_read_input_tokens, begun.input_tokens) == (
            again.usage.cache_read_input_tokens,
            again.usage.input_tokens,
        )
        assert (again.stop_reason, again.stop_sequence) == ("stop_sequence", word)
        assert text == block.text[: block.text.index(word)]
        assert again.usage.cache_read_input_tokens
        assert again.usage.input_tokens + again.usage.cache_read_input_tokens == counted.input_tokens
        history = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": "And then?"}]
        next_turn = await client.messages.create(**{**fields, "messages": history})
        # KV of an answer's last token is never computed.
        assert next_turn.usage.cache_read_input_tokens == counted.input_tokens + first.usage.output_tokens - 1


async def test_several_answers_are_equal_whole_and_streamed(real_api: Api) -> None:
    async with AsyncOpenAI(base_url=f"{real_api.url}/v1", api_key="none", max_retries=0) as client:
        fields: Any = {"model": "smollm2", "messages": QUESTION, "seed": 4, "max_tokens": 12}
        several = await client.chat.completions.create(**fields, n=3)
        whole = [choice.message.content for choice in several.choices]
        assert len(set(whole)) == 3
        texts: dict[int, str] = defaultdict(str)
        async for chunk in await client.chat.completions.create(**fields, n=3, stream=True):
            texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
        assert [texts[index] for index in range(3)] == whole
        one = await client.chat.completions.create(**fields)
        assert one.choices[0].message.content == whole[0]
        best = await client.completions.create(model="smollm2", prompt="The sea", best_of=3, max_tokens=8, seed=4)
        all_three = await client.completions.create(
            model="smollm2", prompt="The sea", n=3, max_tokens=8, seed=4, logprobs=0
        )
        told = [(choice.logprobs.token_logprobs, choice.text) for choice in all_three.choices if choice.logprobs]
        likeliest = max(told, key=lambda each: sum(lp or 0.0 for lp in each[0] or ()) / len(each[0] or ()))
        assert best.choices[0].text == likeliest[1]
        await answers_call_tools(client)


async def answers_call_tools(client: AsyncOpenAI) -> None:
    """Assert that each of several streamed answers makes a separate tool call."""
    days = {
        "type": "object",
        "properties": {"days": {"enum": [1, 2, 3]}},
        "required": ["days"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "function": {"name": "forecast", "parameters": days}}
    fields: Any = {"messages": QUESTION, "tools": [tool], "tool_choice": "required", "parallel_tool_calls": False}
    calls: dict[int, dict[int, list[str]]] = defaultdict(dict)
    reasons = {}
    async for chunk in await client.chat.completions.create(model="smollm2", **fields, n=2, max_tokens=60, stream=True):
        [choice] = chunk.choices
        reasons[choice.index] = choice.finish_reason
        for call in choice.delta.tool_calls or ():
            assert call.function is not None
            calls[choice.index].setdefault(call.index, []).append(call.function.arguments or "")
    assert reasons == {0: "tool_calls", 1: "tool_calls"}
    for index in (0, 1):
        [pieces] = calls[index].values()
        assert (pieces[0], len(pieces) > 1) == ("", True)
        assert json.loads("".join(pieces))["days"] in {1, 2, 3}


async def test_client_renders_the_prompt_from_the_tokenizer_info(real_api: Api) -> None:
    messages = [{"role": "user", "content": "Grüße, 世界 🌊"}]
    async with api_client(real_api.url) as http:
        info = await (await http.get("/tokenizer_info")).json()
        template = jinja2.Environment().from_string(info["chat_template"])
        text = template.render(messages=messages, add_generation_prompt=True, bos_token=info["bos_token"])
        rendered = await (await http.post("/tokenize", json={"prompt": text})).json()
        asked = await (await http.post("/tokenize", json={"messages": messages})).json()
        end = await (await http.post("/tokenize", json={"prompt": info["eos_token"]})).json()
    assert rendered["tokens"] == asked["tokens"]
    assert end["count"] == 1
    assert info["tokenizer_class"]


async def test_tokenized_text_detokenizes_to_itself(real_api: Api) -> None:
    async with api_client(real_api.url) as http:
        for fields in ({"prompt": "Grüße, 世界 🌊<|im_end|>"}, {"messages": QUESTION}):
            tokenized = await (await http.post("/tokenize", json=fields)).json()
            text = (await (await http.post("/detokenize", json={"tokens": tokenized["tokens"]})).json())["prompt"]
            assert tokenized["count"] == len(tokenized["tokens"])
            assert text == fields.get("prompt", text)
            again = await (await http.post("/tokenize", json={"prompt": text})).json()
            assert again["tokens"] == tokenized["tokens"]
        beyond = await http.post("/detokenize", json={"tokens": [real_api.engine.tokenizer.vocab_size]})
        assert beyond.status == 400
