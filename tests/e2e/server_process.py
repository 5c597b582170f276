"""`ebb serve` as a separate process, forked from one that has imported the server and torch."""

import re
import signal
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.cli.main import main
from bench.server import server_pid
from tests.forked_process import ForkedProcess
from tests.server_environment import server_environment
from tests.waiting import until

START_SECONDS = 120.0
STOP_SECONDS = 30.0
SERVE = (sys.executable, "-c", "from app.cli.main import main; raise SystemExit(main())", "serve")
ADDRESS = re.compile(r"listening on (http://127\.0\.0\.1:(\d+))[ ;]")


class ServerProcess:
    """A server process that can be restarted at the same address, with its chats in `state_dir`.

    url: the base URL, empty until the first start.
    """

    def __init__(self, state_dir: Path, *flags: str) -> None:
        self.url = ""
        self._port = "0"
        self._state_dir = state_dir
        self._flags = flags
        self._log = state_dir / "serve.log"

    @property
    def pid(self) -> int:
        """Id of the process that serves, which the started one supervises."""
        pid = server_pid(self._process.pid)
        assert pid is not None
        return pid

    def start(self) -> None:
        """Start the server and wait until it is ready to answer."""
        # Titles from the first words never change, so that tests can look chats up by title.
        place = ("--port", self._port, "--state-dir", str(self._state_dir / "state"), "--chat-titles", "first-words")
        arguments = ["serve", *place, *self._flags]
        with self._log.open("wb") as output:
            log = output.fileno()
            self._process = ForkedProcess(main, arguments, stdout=log, stderr=log, environment=server_environment())
        try:
            found = until(self._address, timeout=START_SECONDS)
            self.url, self._port = found[1], found[2]
            until(self._is_ready, timeout=START_SECONDS)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """Kill the server with SIGKILL, which gives it no chance to save anything."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Terminate the server and wait for it to exit.

        Kill it and raise TimeoutError if that takes more than STOP_SECONDS.
        """
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOP_SECONDS)
        except TimeoutError:
            self.kill()
            raise

    def _address(self) -> re.Match[str] | None:
        self._check_alive()
        return ADDRESS.search(self._log.read_text())

    def _is_ready(self) -> bool:
        self._check_alive()
        try:
            with urllib.request.urlopen(f"{self.url}/ready", timeout=5):
                return True
        except OSError:
            return False

    def _check_alive(self) -> None:
        assert self._process.poll() is None, f"ebb serve ended:\n{self._log.read_text()}"


@contextmanager
def ebb_process(state_dir: Path, *flags: str) -> Iterator[ServerProcess]:
    """Start a server, yield it when it is ready to answer, and stop it at the end."""
    server = ServerProcess(state_dir, *flags)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def ebb_serve(state_dir: Path, *flags: str) -> Iterator[str]:
    """Start a server, yield its base URL when it is ready to answer, and stop it at the end."""
    with ebb_process(state_dir, *flags) as server:
        yield server.url
