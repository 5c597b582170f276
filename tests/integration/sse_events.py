"""Server-sent events as a browser reads them."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.integration.described import check_event


@dataclass(frozen=True, slots=True)
class Event:
    """data: the JSON, or the bare text where it is none."""

    kind: str
    data: Any
    id: str | None = None

    @property
    def number(self) -> int:
        """Its sequence number."""
        number = self.data["sequence_number"]
        assert isinstance(number, int)
        return number


async def events(response: aiohttp.ClientResponse) -> AsyncIterator[Event]:
    """Each event as it comes, until the stream ends; those that resume something are held to their description."""
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
    """Every event of a stream that ends."""
    return [event async for event in events(response)]


def text_of(received: list[Event]) -> str:
    """What the deltas say, together."""
    return "".join(event.data["text"] for event in received if event.kind == "delta")


def _value(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data
