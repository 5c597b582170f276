"""Responses after a restart of the server process, driven by OpenAI's own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent

from engine.testing.replay_engine import ReplayEngine
from engine.testing.script import Said
from tests.integration.api_server import running_server
from tests.integration.app.host.test_server_life import WHOLE_ANSWER, serving


@asynccontextmanager
async def client_of(state_dir: Path) -> AsyncIterator[AsyncOpenAI]:
    """Start a server process, yield a client of that server, and kill the process at the end."""
    async with serving(state_dir) as (server, _), AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
        yield client


def text_in(events: list[ResponseStreamEvent]) -> str:
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


async def test_response_is_continued_after_the_server_was_killed(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        first = await client.responses.create(model="fake-1", input="one", instructions="Rhyme.", metadata={"a": "b"})
    async with client_of(tmp_path) as client:
        assert await client.responses.retrieve(first.id) == first
        second = await client.responses.create(
            model="fake-1", input="two", previous_response_id=first.id, instructions="Rhyme."
        )
        assert second.usage is not None
        assert first.usage is not None
        items = [item async for item in client.responses.input_items.list(second.id, order="asc")]
        assert [item.content[0].text for item in items] == ["one", WHOLE_ANSWER, "two"]  # type: ignore[union-attr, index]
        assert second.usage.input_tokens > first.usage.total_tokens


async def test_events_of_a_former_server_resume_at_any_number(tmp_path: Path) -> None:
    async with client_of(tmp_path) as client:
        stream = await client.responses.create(model="fake-1", input="one", background=True, stream=True)
        events = [event async for event in stream]
    assert events[0].type == "response.created"
    response_id = events[0].response.id
    async with client_of(tmp_path) as client:
        for index in (0, 3, 4, 7, len(events) - 4, len(events) - 1):
            after = events[index].sequence_number
            rest = [e async for e in await client.responses.retrieve(response_id, stream=True, starting_after=after)]
            assert text_in(events[: index + 1]) + text_in(rest) == WHOLE_ANSWER
            assert [e.sequence_number for e in rest if e.type != "response.output_text.delta"] == [
                e.sequence_number for e in events[index + 1 :] if e.type != "response.output_text.delta"
            ]


CALLS = (
    'So.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Rome", "days": 12}}\n</tool_call>\n'
    '<tool_call>\n{"name": "now"}\n</tool_call>'
)
TOOLS: list[Any] = [
    {"type": "function", "name": name, "parameters": None, "strict": None} for name in ("weather", "now")
]
ASKED: dict[str, Any] = {"model": "fake-1", "input": "Rome?", "tools": TOOLS, "background": True}


@asynccontextmanager
async def calling(state_dir: Path) -> AsyncIterator[tuple[ReplayEngine, AsyncOpenAI]]:
    """Start a server whose answers call tools, and yield its engine and a client."""
    engine = ReplayEngine(Said(CALLS))
    async with (
        running_server(state_dir, engine) as server,
        AsyncOpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield engine, client


async def created(client: AsyncOpenAI) -> list[ResponseStreamEvent]:
    return [event async for event in await client.responses.create(**ASKED, stream=True)]


async def after(client: AsyncOpenAI, event: ResponseStreamEvent, response_id: str) -> list[ResponseStreamEvent]:
    """Return the events of a response after `event`."""
    number = event.sequence_number
    return [each async for each in await client.responses.retrieve(response_id, stream=True, starting_after=number)]


def told(events: list[ResponseStreamEvent]) -> list[tuple[str, int, str]]:
    """Return the name, the number and the delta of each event."""
    return [(event.type, event.sequence_number, getattr(event, "delta", "")) for event in events]


async def test_events_of_calls_are_the_same_after_restart(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, client):
        events = await created(client)
    first = events[0]
    assert first.type == "response.created"
    async with calling(tmp_path) as (_, client):
        for index, event in enumerate(events):
            assert told(await after(client, event, first.response.id)) == told(events[index + 1 :])


async def test_call_that_a_restart_interrupts_keeps_its_numbers(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, client):
        whole = await created(client)
    seen: list[ResponseStreamEvent] = []
    async with calling(tmp_path) as (engine, client):
        engine.hold()
        async with await client.responses.create(**ASKED, stream=True) as stream:
            engine.allow(CALLS.index('me",'))
            async for event in stream:
                seen.append(event)
                if event.type == "response.function_call_arguments.delta" and event.delta == "o":
                    break
    first = seen[0]
    assert first.type == "response.created"
    async with calling(tmp_path) as (_, client):
        for index, event in enumerate(seen):
            rest = await after(client, event, first.response.id)
            assert told(seen[: index + 1] + rest) == told(whole)
            last = rest[-1]
            assert last.type == "response.completed"
            assert [item.type for item in last.response.output] == ["message", "function_call", "function_call"]
