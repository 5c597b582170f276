"""Compressed requests of the clients' own packages, on each API."""

import gzip
from collections.abc import Awaitable, Callable
from typing import Any

import httpx2
import pytest
from anthropic import AsyncAnthropic
from ollama import AsyncClient
from openai import AsyncOpenAI

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
QUESTION = "When is high tide? " * 50
MESSAGES: list[Any] = [{"role": "user", "content": QUESTION}]


async def compress(request: Any) -> None:
    """Compress the body of a request that is about to be sent: a hook of httpx."""
    body = gzip.compress(await request.aread())
    assert len(body) < len(QUESTION)
    request.headers.update({"Content-Encoding": "gzip", "Content-Length": str(len(body))})
    request.stream = type(request.stream)(body)


HOOKS: Any = {"request": [compress]}


def openai_client(url: str) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=f"{url}/v1", api_key="none", http_client=httpx2.AsyncClient(event_hooks=HOOKS))


async def chat(url: str) -> str:
    async with openai_client(url) as client:
        answer = await client.chat.completions.create(model="fake-1", messages=MESSAGES)
    return answer.choices[0].message.content or ""


async def response(url: str) -> str:
    async with openai_client(url) as client:
        return (await client.responses.create(model="fake-1", input=QUESTION)).output_text


async def message(url: str) -> str:
    http = httpx2.AsyncClient(event_hooks=HOOKS)
    async with AsyncAnthropic(base_url=url, api_key="none", http_client=http) as client:
        answer = await client.messages.create(model="fake-1", max_tokens=100, messages=MESSAGES)
    return str(answer.content[0].to_dict()["text"])


async def ollama_chat(url: str) -> str:
    async with AsyncClient(host=url, event_hooks=HOOKS) as client:
        return (await client.chat("fake-1", MESSAGES)).message.content or ""


@pytest.mark.parametrize("ask", [chat, response, message, ollama_chat])
async def test_compressed_request_of_a_client_is_answered(
    api: RunningServer[ReplayEngine], ask: Callable[[str], Awaitable[str]]
) -> None:
    assert await ask(api.url) == WHOLE_ANSWER
    assert QUESTION.strip() in text_of(api.engine.requests[0].prompt)
