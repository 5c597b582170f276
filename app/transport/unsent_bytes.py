"""A limit on what the kernel buffers of a response that its client does not read."""

import asyncio
import socket
from contextlib import suppress

from app.domain.bounds import MAX_UNSENT_BYTES


def limit_unsent_bytes(transport: asyncio.Transport) -> None:
    """Limit what the kernel buffers beyond the client's window to MAX_UNSENT_BYTES, where supported."""
    # See tcp(7), TCP_NOTSENT_LOWAT. Other socket families and other systems are left as they are.
    option = getattr(socket, "TCP_NOTSENT_LOWAT", None)
    taken = transport.get_extra_info("socket")
    if option is not None and taken is not None and taken.family in (socket.AF_INET, socket.AF_INET6):
        with suppress(OSError):
            taken.setsockopt(socket.IPPROTO_TCP, option, MAX_UNSENT_BYTES)
