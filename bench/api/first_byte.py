"""Time from a message to the first byte of its answer, with an engine that itself takes no time."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.api.questions import chat_request, message_request
from bench.api.replay_server import replay_server
from bench.api.stream_reader import CHAT_TEXT, RUN_TEXT, Address, StreamReader, Window
from bench.api.streams import address_of, new_conversations
from bench.stats import Spread, spread

WARM_UP = 20


@dataclass(frozen=True, slots=True)
class FirstByteResult:
    """Milliseconds from the request to the first text, one request after the other on a quiet server.

    An engine that answers at once hides nothing: with any other, a turn is stored while it computes.
    """

    chat_ms: Spread
    message_ms: Spread


async def measure_first_byte(samples: int, root: Path) -> FirstByteResult:
    """Measure on a separate server. Raise ServerFailedError."""
    async with replay_server(root / "first-byte") as server:
        address = address_of(server)
        conversations = await new_conversations(server, WARM_UP + samples)
        chats = [chat_request(address, 1) for _ in conversations]
        messages = [message_request(address, conversation, 1) for conversation in conversations]
        return FirstByteResult(
            spread((await _waits(address, chats, CHAT_TEXT))[WARM_UP:]),
            spread((await _waits(address, messages, RUN_TEXT))[WARM_UP:]),
        )


async def _waits(address: Address, requests: Sequence[bytes], text: re.Pattern[bytes]) -> list[float]:
    waits = list[float]()
    loop = asyncio.get_running_loop()
    for request in requests:
        _, reader = await loop.create_connection(
            lambda request=request: StreamReader(request, text, Window(0, 0)),  # type: ignore[misc]
            address.host,
            address.port,
        )
        waits.append(await reader.opened * 1e3)
        await reader.closed
    return waits
