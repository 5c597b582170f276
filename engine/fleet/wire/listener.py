"""Place where a replica waits for gateways that did not start its process."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from engine.process.listening_socket import listen_on

HANDSHAKE_SECONDS: Final = 5.0
"""Time limit of a peer's TLS handshake, while which no other peer is heard."""

UNREACHABLE_MS: Final = 10_000
"""Milliseconds without an acknowledgement after which a replica leaves a gateway that vanished without a word."""


@dataclass(frozen=True)
class Door:
    """Address of a replica, its process id, and the certificate that it will show, in PEM."""

    host: str
    port: int
    pid: int
    certificate: bytes


class DoorListener:
    """Listening socket on one address of this machine."""

    def __init__(self, host: str) -> None:
        """Listen on any free port of the address `host`. Raise OSError."""
        self._listener = listen_on(host)
        self._listener.setblocking(False)
        self._host = host
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        """Port that the socket listens on."""
        port: int = self._listener.getsockname()[1]
        return port

    def door(self, certificate: bytes) -> Door:
        """Return the door, for a gateway to connect to."""
        return Door(self._host, self.port, os.getpid(), certificate)

    async def admit_all(self, context: ssl.SSLContext, protocol: Callable[[], asyncio.Protocol]) -> None:
        """Connect a protocol to each peer from now on."""
        self._server = await asyncio.get_running_loop().create_server(
            protocol, sock=self._listener, ssl=context, ssl_handshake_timeout=HANDSHAKE_SECONDS
        )

    async def admit(self, context: ssl.SSLContext, protocol: Callable[[], asyncio.Protocol]) -> None:
        """Connect a protocol to the first peer that `context` accepts, and listen no more. Refuse all others."""
        loop = asyncio.get_running_loop()
        with self._listener:
            while True:
                peer, _ = await loop.sock_accept(self._listener)
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREACHABLE_MS)
                try:
                    await loop.connect_accepted_socket(
                        protocol, peer, ssl=context, ssl_handshake_timeout=HANDSHAKE_SECONDS
                    )
                except OSError:
                    continue
                return
