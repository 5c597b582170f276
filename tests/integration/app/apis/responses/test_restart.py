"""Responses after a restart of the server process, driven by OpenAI's own client."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from openai import AsyncOpenAI
from openai.types.responses import ResponseStreamEvent

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
