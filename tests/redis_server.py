"""A real Redis server for one test: started, frozen, killed and poisoned at will."""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.server_binary import find_redis_server
from tests.waiting import until


def free_port() -> int:
    """A TCP port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """Listens on a socket file in `folder`, and on `port` if given. Keeps nothing over a restart."""

    def __init__(self, folder: Path, *arguments: str, port: int = 0, password: str | None = None) -> None:
        binary = find_redis_server()
        assert binary is not None, "the tests need a Redis server: apt-get install redis-server"
        self.socket = folder / "test.sock"
        self.port = port
        self.address = RedisAddress(unix_path=self.socket)
        self._folder = folder
        self._password = password
        where = ["--port", str(port), "--unixsocket", str(self.socket)]
        # Snapshots as the companion writes them: to compress values that do not shrink takes a core for seconds.
        snapshots = ["--save", "", "--rdbcompression", "no", "--rdbchecksum", "no"]
        self._command = [str(binary), *where, *snapshots, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Launch it and wait until it answers."""
        self._process = subprocess.Popen(self._command, cwd=self._folder, stdout=subprocess.DEVNULL)
        try:
            until(self._answers, timeout=10)
        except AssertionError:
            self.kill()
            raise

    def kill(self) -> None:
        """kill -9."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def freeze(self) -> None:
        """It keeps its connections and its listening socket, and does nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        self._signal(signal.SIGCONT)

    @contextmanager
    def client(self) -> Iterator[redis.Redis]:
        """redis-py on the socket."""
        client = redis.Redis(unix_socket_path=str(self.socket), password=self._password, socket_timeout=5)
        try:
            yield client
        finally:
            client.close()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _answers(self) -> bool:
        try:
            with self.client() as client:
                return bool(client.ping())
        except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError):
            return False


ServerMaker = Callable[..., RedisServer]
