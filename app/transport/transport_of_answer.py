"""The transport of a connection, as uvicorn's answer to one request sees it."""

import asyncio
from collections.abc import Callable
from typing import Any


class TransportOfAnswer:
    """The transport, except that `close` ends the connection gently."""

    def __init__(self, transport: asyncio.Transport, end: Callable[[], None]) -> None:
        self._transport = transport
        self.write = transport.write
        self.close = end

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)
