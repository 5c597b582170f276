"""Server-sent events, parsed as a browser parses them."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.integration.described import check_event


@dataclass(frozen=True, slots=True)
class Event:
    """Server-sent event.

    data: the decoded JSON, or the plain text if the data is not JSON.
    """

    kind: str
    data: Any
    id: str | None = None

    @property
    def number(self) -> int:
        """Sequence number of the event in the stream of a response."""
        number = self.data["sequence_number"]
        assert isinstance(number, int)
        return number


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    """Yield each event as it arrives, until the stream ends. Events with an id are validated against their schema."""
    fields: dict[str, str] = {}
    async for line in response.content:
        text = line.decode().rstrip("\n")
        if not text:
            if "data" in fields:
                event = Event(fields.get("event", "message"), _value(fields["data"]), fields.get("id"))
                if event.id is not None:
                    check_event(response.method, response.url.path, event.kind, event.data)
                yield event
            fields = {}
        elif not text.startswith(":"):
            name, _, value = text.partition(": ")
            fields[name] = value


async def all_events(response: aiohttp.ClientResponse) -> list[Event]:
    """Read a stream to its end and return its events."""
    return [event async for event in events(response)]


def text_of(received: list[Event]) -> str:
    """Join the text of the delta events."""
    return "".join(event.data["text"] for event in received if event.kind == "delta")


def _value(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data
