"""A Unix socket server that runs a scripted exchange on one connection."""

import contextlib
import socket
import threading
from collections.abc import Callable
from pathlib import Path

from cache_tiers.redis.address import RedisAddress

Script = Callable[[socket.socket], None]


class Listener:
    """Unix socket at `path` whose first connection runs a script on a separate thread."""

    def __init__(self, path: Path) -> None:
        self.address = RedisAddress(unix_path=path)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._thread: threading.Thread | None = None

    def play(self, script: Script) -> None:
        """Accept one connection on a separate thread and run `script` with it. OSError ends the script silently."""

        def serve() -> None:
            with self._socket.accept()[0] as connection, contextlib.suppress(OSError):
                script(connection)

        self._thread = threading.Thread(target=serve)
        self._thread.start()

    def close(self) -> None:
        """Close the listening socket and wait up to 10 s for the script to end."""
        self._socket.close()
        if self._thread is not None:
            self._thread.join(10)
