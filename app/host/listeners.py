"""Listening sockets of a server."""

import socket
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Listeners:
    """Listening sockets of one server, which serves the same routes at all of them.

    main: the socket at `--port`.
    ollama: the socket at `--ollama-port`; None without one.
    """

    main: socket.socket
    ollama: socket.socket | None = None

    @property
    def sockets(self) -> list[socket.socket]:
        """All sockets, the main one first."""
        return [self.main, *([self.ollama] if self.ollama is not None else [])]

    @property
    def port(self) -> int:
        """Port of the main socket."""
        return port_of(self.main)

    @property
    def ollama_port(self) -> int | None:
        """Port of the socket for clients of Ollama; None without one."""
        return None if self.ollama is None else port_of(self.ollama)

    def close(self) -> None:
        """Close all sockets in this process."""
        for each in self.sockets:
            each.close()


def port_of(listener: socket.socket) -> int:
    """Return the port that a socket listens on, which the system may have chosen."""
    port: int = listener.getsockname()[1]
    return port


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the first address of `host`."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # From here on, clients can connect, even before the server can read requests.
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener
