"""Constants and helpers that the tests of the Responses API share."""

import asyncio
from typing import Any

from openai.types.responses import ResponseStreamEvent

from engine.testing.byte_tokenizer import text_of
from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import ANSWER_WORDS
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]

WHOLE_ANSWER = "".join(f" w{i}" for i in range(ANSWER_WORDS))
NUM_TOKENS = ANSWER_WORDS + 1
LONG = {"ignore_eos": True}


def text_in(events: list[ResponseStreamEvent]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


async def all_of(stream: Any) -> list[ResponseStreamEvent]:
    async with asyncio.timeout(20):
        return [event async for event in stream]


async def until_text(stream: Any, text: str) -> list[ResponseStreamEvent]:
    """Read the events up to the one that completes `text`."""
    seen: list[ResponseStreamEvent] = []
    async with asyncio.timeout(20):
        while text_in(seen) != text:
            seen.append(await anext(stream))
    return seen


def prompt(api: Api, index: int) -> str:
    return text_of(api.engine.requests[index].prompt)
