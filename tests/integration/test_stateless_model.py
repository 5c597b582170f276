"""Chats of the real model through OpenAI's client, which sends all of them each time: nothing is computed twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from engine.async_llm import AsyncLLMEngine
from engine.build import build_engine
from models.pangu.chat_format import Message
from tests.integration.api_server import RunningServer, running_server
from tests.integration.engine_rig import BLOCK, engine_config
from tests.integration.real_server import settled

Api = RunningServer[AsyncLLMEngine]

WILD: dict[str, Any] = {
    "model": "smollm2",
    "temperature": 1.5,
    "max_tokens": 72,
    "stream_options": {"include_usage": True},
}
"""What is sampled so is seldom tokenised as it was produced, and has bytes that are no characters."""


@asynccontextmanager
async def server_on(model_path: Path, folder: Path) -> AsyncIterator[tuple[Api, AsyncOpenAI]]:
    engine = await asyncio.to_thread(build_engine, engine_config(model_path, folder / "state"), lambda _: None)
    async with (
        running_server(folder, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield server, client
        await settled(engine)


@dataclass
class Chat:
    """missed: tokens of the full blocks that the turns before had computed, and that were computed again."""

    seed: int
    fields: dict[str, Any] = field(default_factory=dict)
    messages: list[Any] = field(default_factory=list)
    known: int = 0
    missed: int = 0

    async def turn(self, client: AsyncOpenAI, question: str) -> None:
        """Every other one as a stream."""
        self.messages.append({"role": "user", "content": question})
        fields: dict[str, Any] = {**WILD, "seed": self.seed + len(self.messages), **self.fields}
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
        # The KV of the last token of an answer is never computed; behind the text may be a stop string.
        self.known = usage.prompt_tokens + (0 if "stop" in self.fields else usage.completion_tokens - 1)


async def test_nothing_is_computed_twice_also_after_a_restart(model_path: Path, tmp_path: Path) -> None:
    chats = [Chat(1, {"extra_body": {"ignore_eos": True}}), Chat(2, {"stop": ["e"], "extra_body": {"min_tokens": 40}})]
    async with server_on(model_path, tmp_path) as (server, client):
        for question in ("Répondez 🙂: what is 世界?", "Write a function in C."):
            await asyncio.gather(*(chat.turn(client, question) for chat in chats))
        said = [Message(message["role"], message["content"]) for message in chats[0].messages]
        assert len(server.engine.chat_format.render(said)) != chats[0].known, "these answers would be told by others"
    async with server_on(model_path, tmp_path) as (_, client):
        await asyncio.gather(*(chat.turn(client, "And what did we speak about?") for chat in chats))
    assert [chat.missed for chat in chats] == [0, 0]
