"""Responses on the real model: each one reuses the KV of the response that it continues."""

import asyncio
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from engine.wiring.build import build_engine
from tests.integration.api_server import running_server
from tests.integration.engine_rig import engine_config

LONG = "Tell me what a geographer would say about rivers, lakes and the sea. " * 6
CALM: dict[str, Any] = {"model": "smollm2", "temperature": 0, "max_output_tokens": 24}


async def test_response_computes_only_tokens_after_previous_one(shallow_model: Path, tmp_path: Path) -> None:
    config = engine_config(shallow_model, tmp_path / "state", blocks=60, redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with (
        running_server(tmp_path, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as client,
    ):
        first = await client.responses.create(input=LONG, instructions="Be brief.", **CALM)
        items: Any = [{"role": "user", "content": "Listen."}, {"role": "user", "content": "And the wind?"}]
        second = await client.responses.create(
            input=items, instructions="Be brief.", previous_response_id=first.id, **CALM
        )
        other = await client.responses.create(input=items, previous_response_id=first.id, **CALM)
        stream = await client.responses.create(
            input="Say more.", background=True, stream=True, previous_response_id=other.id, **CALM
        )
        events = [event async for event in stream]
        again = [event async for event in await client.responses.retrieve(first.id, stream=True)]
    assert first.usage is not None
    assert second.usage is not None
    assert other.usage is not None
    # KV is never computed for the last token of an answer.
    known = first.usage.total_tokens - 1
    assert second.usage.input_tokens_details.cached_tokens == known
    assert second.usage.to_dict()["kv"]["computed"] == second.usage.input_tokens - known
    assert other.usage.input_tokens_details.cached_tokens < 64, "different instructions must change the prefix"
    assert events[-1].type == again[-1].type == "response.incomplete"
    assert again[-1].response.output_text == first.output_text
