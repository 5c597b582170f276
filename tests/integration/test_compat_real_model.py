"""Anthropic's client, and the tokenizer's routes, on the real engine with the default model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic

from engine.async_llm import AsyncLLMEngine
from engine.build import build_engine
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.engine_rig import engine_config

Api = RunningServer[AsyncLLMEngine]

QUESTION: Any = [{"role": "user", "content": "Tell me about rivers and the sea, please. " * 10}]


@pytest.fixture
async def real_api(model_path: Path, tmp_path: Path) -> AsyncIterator[Api]:
    config = engine_config(model_path, tmp_path / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with running_server(tmp_path, engine) as server:
        yield server


async def test_a_message_is_answered_counted_cached_and_stopped_by_a_sequence(real_api: Api) -> None:
    async with AsyncAnthropic(base_url=real_api.url, api_key="none", max_retries=0) as client:
        counted = await client.messages.count_tokens(model="smollm2", messages=QUESTION)
        fields: dict[str, Any] = {"model": "smollm2", "max_tokens": 24, "messages": QUESTION}
        fields["extra_body"] = {"temperature": 0}
        first = await client.messages.create(**fields)
        assert first.usage.input_tokens == counted.input_tokens
        assert first.usage.cache_read_input_tokens == 0
        [block] = first.content
        assert block.type == "text"
        word = block.text.split()[3]
        async with client.messages.stream(**fields, stop_sequences=["not in there", word]) as stream:
            text = "".join([text async for text in stream.text_stream])
            again = await stream.get_final_message()
        assert (again.stop_reason, again.stop_sequence) == ("stop_sequence", word)
        assert text == block.text[: block.text.index(word)]
        assert again.usage.cache_read_input_tokens
        assert again.usage.input_tokens + again.usage.cache_read_input_tokens == counted.input_tokens
        history = [*QUESTION, {"role": "assistant", "content": first.content}, {"role": "user", "content": "And then?"}]
        next_turn = await client.messages.create(**{**fields, "messages": history})
        # The KV of the last token of an answer is never computed.
        assert next_turn.usage.cache_read_input_tokens == counted.input_tokens + first.usage.output_tokens - 1


async def test_text_becomes_ids_and_text_again(real_api: Api) -> None:
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
