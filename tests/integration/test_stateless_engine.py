"""Chats through OpenAI's client, which sends all of them each time, on a real engine: nothing is computed twice.

The model is a small random one, whose answers are bytes. Most of them are no characters, so that no answer is tokenised
to what was produced.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from openai import AsyncOpenAI

from engine.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.integration.engine_rig import BLOCK, engine_config
from tests.tiny_models import make_tiny_model

FIELDS: dict[str, Any] = {"model": "smollm2", "temperature": 1, "max_tokens": 100}


@asynccontextmanager
async def server_in(folder: Path) -> AsyncIterator[tuple[AsyncOpenAI, aiohttp.ClientSession]]:
    """Two clients of a server that was there before, if it is the second one in this folder."""
    model = make_tiny_model(folder / "model", hidden=128, heads=2, kv_heads=1)
    config = engine_config(model, folder / "state", redis_url="off")
    engine = await asyncio.to_thread(build_engine, config, lambda _: None)
    async with (
        running_server(folder, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
        api_client(server.url) as http,
    ):
        yield client, http


@dataclass
class Chat:
    """known: tokens that its turns have computed. missed: of those in full blocks, how many were computed again."""

    fields: dict[str, Any]
    messages: list[Any] = field(default_factory=list)
    known: int = 0
    missed: int = 0

    async def turn(self, client: AsyncOpenAI, question: str) -> None:
        """Every other one as a stream."""
        self.messages.append({"role": "user", "content": question})
        fields: dict[str, Any] = {**FIELDS, "seed": len(self.messages), **self.fields}
        if len(self.messages) % 4 == 1:
            fields |= {"stream": True, "stream_options": {"include_usage": True}}
            chunks = [chunk async for chunk in await client.chat.completions.create(messages=self.messages, **fields)]
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1])
            usage = chunks[-1].usage
        else:
            answer = await client.chat.completions.create(messages=self.messages, **fields)
            text, usage = answer.choices[0].message.content, answer.usage
        self.missed += max(0, self.known // BLOCK * BLOCK - usage.prompt_tokens_details.cached_tokens)
        self.messages.append({"role": "assistant", "content": text})
        # The KV of the last token of an answer is never computed. The last tokens of one that a stop string cut are
        # not in the text.
        self.known = usage.prompt_tokens + (0 if "stop" in self.fields else usage.completion_tokens - 1)

    async def ids(self, http: aiohttp.ClientSession) -> list[int]:
        """Of its prompt if it went on now."""
        async with http.post("/tokenize", json={"messages": self.messages}) as response:
            ids: list[int] = (await response.json())["tokens"]
            return ids


async def test_nothing_is_computed_twice_and_a_restart_changes_nothing(tmp_path: Path) -> None:
    whole, cut = Chat({"extra_body": {"ignore_eos": True}}), Chat({"stop": ["e"], "extra_body": {"min_tokens": 60}})
    async with server_in(tmp_path) as (client, http):
        for question in ("Répondez 🙂: what is 世界?", "Write a function in C.", "Go on."):
            await asyncio.gather(*(chat.turn(client, question) for chat in (whole, cut)))
        assert (whole.missed, cut.missed) == (0, 0)
        assert min(whole.known, cut.known) > 4 * BLOCK
        ids = [await chat.ids(http) for chat in (whole, cut)]
    async with server_in(tmp_path) as (_, http):
        assert [await chat.ids(http) for chat in (whole, cut)] == ids
