"""The kernel's buffer of what a client has not read."""

import asyncio
import socket
from contextlib import suppress
from typing import cast

from app.transport.unsent_bytes import limit_unsent_bytes


def test_kernel_buffers_little_unread_data() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as _:
        taken, _ = server.accept()
        with taken:
            limit_unsent_bytes(cast(asyncio.Transport, _TransportOf(taken)))
            taken.setblocking(False)
            num_bytes = 0
            with suppress(BlockingIOError):
                while num_bytes < 64 << 20:
                    num_bytes += taken.send(bytes(1 << 14))
    assert num_bytes < 1 << 20


class _TransportOf:
    def __init__(self, taken: socket.socket) -> None:
        self._taken = taken

    def get_extra_info(self, name: str) -> socket.socket:
        assert name == "socket"
        return self._taken
