"""A real Redis server that a test can start, freeze, kill and poison at any time."""

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
    """Find a TCP port on which no process is listening."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RedisServer:
    """Redis server on a socket file in `folder`.

    A restart loses all data unless a client sent SAVE before.

    port: TCP port to listen on as well; 0 for none.
    password: password that `client` sends.
    """

    def __init__(self, folder: Path, *arguments: str, port: int = 0, password: str | None = None) -> None:
        binary = find_redis_server()
        assert binary is not None, "the tests need a Redis server: apt-get install redis-server"
        self.socket = folder / "test.sock"
        self.port = port
        self.address = RedisAddress(unix_path=self.socket)
        self.folder = folder
        self._password = password
        where = ["--port", str(port), "--unixsocket", str(self.socket)]
        # The companion's snapshot settings: compressing incompressible values occupies a core for seconds.
        snapshots = ["--save", "", "--rdbcompression", "no", "--rdbchecksum", "no"]
        self._command = [str(binary), *where, *snapshots, *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        self._process = subprocess.Popen(self._command, cwd=self.folder, stdout=subprocess.DEVNULL)
        try:
            until(self._answers, timeout=10)
        except AssertionError:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the server with SIGKILL."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def freeze(self) -> None:
        """Suspend the server, which keeps its connections and its listening socket open."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen server continue."""
        self._signal(signal.SIGCONT)

    @contextmanager
    def client(self) -> Iterator[redis.Redis]:
        """Open a redis-py client on the socket file while the context is open."""
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
