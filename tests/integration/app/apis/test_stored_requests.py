"""Which requests tell the engine that they belong to a stored conversation."""

from typing import Any

from anthropic import AsyncAnthropic
from openai import AsyncOpenAI

from engine.testing.replay_engine import ReplayEngine
from tests.integration.api_server import RunningServer

Api = RunningServer[ReplayEngine]
HI: Any = [{"role": "user", "content": "hi"}]


async def test_stateless_apis_store_no_conversation(api: Api) -> None:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        await client.chat.completions.create(model="fake-1", messages=HI)
        await client.chat.completions.create(model="fake-1", messages=HI, n=2)
        await client.completions.create(model="fake-1", prompt="hi", max_tokens=5)
        await client.responses.create(model="fake-1", input="hi", store=False)
    async with AsyncAnthropic(base_url=api.url, api_key="none", max_retries=0) as client:
        await client.messages.create(model="fake-1", max_tokens=5, messages=HI)
    assert len(api.engine.requests) >= 5
    assert not any(request.is_stored for request in api.engine.requests)


async def test_responses_and_messages_of_chats_are_stored(api: Api) -> None:
    async with AsyncOpenAI(base_url=f"{api.url}/v1", api_key="none", max_retries=0) as client:
        first = await client.responses.create(model="fake-1", input="hi")
        await client.responses.create(model="fake-1", input="more", previous_response_id=first.id)
    assert [request.is_stored for request in api.engine.requests] == [True, True]
