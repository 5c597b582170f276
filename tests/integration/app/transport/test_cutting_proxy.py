"""Streams through a proxy that cuts every connection after 300 ms: the text is complete, without repetition.

The engine emits tokens on a fixed schedule, so an answer outlasts several connections.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI

from engine.testing.replay_engine import MODEL, ReplayEngine
from engine.testing.script import StepNumbers
from tests.integration.api_server import RunningServer, api_client, running_server
from tests.integration.conversations_client import created, shown
from tests.integration.cutting_proxy import CuttingProxy, cutting_proxy
from tests.run_reader import RunReader

CUT_SECONDS = 0.3
TOKENS = 120
STEP_SECONDS = 0.012


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[RunningServer[ReplayEngine]]:
    async with running_server(tmp_path, ReplayEngine(StepNumbers(), pace=STEP_SECONDS)) as server:
        yield server


@pytest.fixture
async def proxy(server: RunningServer[ReplayEngine]) -> AsyncIterator[CuttingProxy]:
    async with cutting_proxy(server.url, CUT_SECONDS) as proxy:
        yield proxy


def whole(text: str) -> bool:
    """Return whether `text` holds every word of the engine in order. The words are consecutive numbers."""
    words = [int(word) for word in text.split()]
    return words == list(range(words[0], words[0] + TOKENS))


async def test_run_resumed_by_last_event_id_is_complete(
    server: RunningServer[ReplayEngine], proxy: CuttingProxy
) -> None:
    reader = RunReader(lambda: proxy.url)
    async with api_client(server.url) as http:
        conversation = await created(http)
        await reader.ask(conversation, {"content": "Count", "params": {"max_tokens": TOKENS, "ignore_eos": True}})
        assert reader.last is not None
        assert reader.last.kind == "done"
        assert whole(reader.text)
        assert (await shown(http, conversation))["messages"][-1]["content"] == reader.text
    assert proxy.cuts >= 2


async def test_response_resumed_by_openais_client_is_complete(
    server: RunningServer[ReplayEngine], proxy: CuttingProxy
) -> None:
    async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as direct:
        how = {"ignore_eos": True}
        response = await direct.responses.create(
            model=MODEL, input="Count", background=True, max_output_tokens=TOKENS, extra_body=how
        )
    texts, numbers, last = list[str](), list[int](), ""
    async with AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="none", max_retries=0) as client:
        while last != "response.incomplete":
            after = numbers[-1] if numbers else openai.omit
            try:
                stream = await client.responses.retrieve(response.id, stream=True, starting_after=after)
                async for event in stream:
                    last = event.type
                    numbers.append(event.sequence_number)
                    if event.type == "response.output_text.delta":
                        texts.append(event.delta)
            except openai.APIConnectionError:
                continue
    assert whole("".join(texts))
    assert numbers == sorted(set(numbers))
    assert proxy.cuts >= 2
