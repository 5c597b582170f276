"""Chats of OpenAI's client, which sends the whole history each time, on a real engine: nothing is computed twice.

The model is a small random one that answers with bytes. Most bytes are not valid characters, so tokenizing an answer's
text never gives the generated tokens.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from openai import AsyncOpenAI

from engine.wiring.build import build_engine
from tests.integration.api_server import api_client, running_server
from tests.integration.engine_rig import BLOCK, engine_config
from tests.tiny_models import make_tiny_model

FIELDS: dict[str, Any] = {"model": "smollm2", "temperature": 1, "max_tokens": 100}


@asynccontextmanager
async def server_in(folder: Path) -> AsyncIterator[tuple[AsyncOpenAI, aiohttp.ClientSession]]:
    """Start a server on the state in `folder`, and yield an OpenAI client and an HTTP client.

    A second server in the same folder stands for a restart.
    """
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
    """Conversation whose history the client keeps.

    known: tokens whose KV previous turns have computed.
    missed: tokens in full blocks that were computed again.
    """

    fields: dict[str, Any]
    messages: list[Any] = field(default_factory=list)
    known: int = 0
    missed: int = 0

    async def turn(self, client: AsyncOpenAI, question: str) -> None:
        """Send a question, every other time as a stream, and count the recomputed tokens."""
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
        # KV of an answer's last token is never computed. After a stop string, the text lacks the answer's last tokens.
        self.known = usage.prompt_tokens + (0 if "stop" in self.fields else usage.completion_tokens - 1)

    async def ids(self, http: aiohttp.ClientSession) -> list[int]:
        """Tokenize the history as in the prompt of the next turn."""
        async with http.post("/tokenize", json={"messages": self.messages}) as response:
            ids: list[int] = (await response.json())["tokens"]
            return ids


async def test_nothing_is_recomputed_and_ids_survive_a_restart(tmp_path: Path) -> None:
    whole, cut = Chat({"extra_body": {"ignore_eos": True}}), Chat({"stop": ["e"], "extra_body": {"min_tokens": 60}})
    async with server_in(tmp_path) as (client, http):
        for question in ("Répondez 🙂: what is 世界?", "Write a function in C.", "Go on."):
            await asyncio.gather(*(chat.turn(client, question) for chat in (whole, cut)))
        assert (whole.missed, cut.missed) == (0, 0)
        assert min(whole.known, cut.known) > 4 * BLOCK
        ids = [await chat.ids(http) for chat in (whole, cut)]
    async with server_in(tmp_path) as (_, http):
        assert [await chat.ids(http) for chat in (whole, cut)] == ids
