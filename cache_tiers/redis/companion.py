"""The Redis server that Ebb starts for itself, which keeps data in memory alone and ends with its Ebb process.

    start ──> lock the state directory, wait for a former companion to end
          ──> supervisor thread: launch ─> wait for an answer ─> ready ─> end, or socket removed ─> launch again
    stop  ──> SIGTERM, wait for the end, unlock

The kernel sends the server SIGTERM when the thread that launched it ends (PR_SET_PDEATHSIG). That thread is the
supervisor, which lives exactly as long as this process wants a companion. The server therefore ends whether this
process stops, crashes or is killed -9, and `start` may be called from any thread.
"""

import logging
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path

from cache_tiers.redis.address import RedisAddress
from cache_tiers.redis.companion_folder import CompanionFolder
from cache_tiers.redis.errors import CompanionError, RedisError
from cache_tiers.redis.resp import RespConnection, Timeouts
from cache_tiers.redis.server_binary import KEEP_PAGES, server_command

logger = logging.getLogger(__name__)

_STOP_SECONDS = 2.0
"""Time for the server to end after SIGTERM, before it is killed."""
_LOOK_AT_SOCKET_SECONDS = 1.0
_START_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.02
_FIRST_RELAUNCH_SECONDS = 0.1
_LONGEST_RELAUNCH_SECONDS = 5.0
_TRIES_TO_START = 3


class RedisCompanion:
    """Owner of one server process and its folder.

    The constructor locks the state directory, and raises StateDirInUseError or CompanionError.

    max_memory: bytes of data beyond which the server evicts the least recently used keys.
    """

    def __init__(self, state_dir: Path, *, binary: Path, max_memory: int) -> None:
        self._folder = CompanionFolder(state_dir)
        try:
            self._address = RedisAddress(unix_path=self._folder.socket())
            self._command = server_command(binary, self._folder.path, self._folder.socket(), max_memory)
        except BaseException:
            self._folder.close()
            raise
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._launches = 0
        self._not_launched = ""
        self._started: Future[None] = Future()
        self._supervisor = threading.Thread(target=self._supervise, name="redis-companion", daemon=True)

    @property
    def address(self) -> RedisAddress:
        """Address of the server, the same after every relaunch."""
        return self._address

    @property
    def pid(self) -> int | None:
        """Process id of the running server; None while there is none."""
        process = self._process
        return process.pid if process is not None and process.poll() is None else None

    @property
    def relaunches(self) -> int:
        """Number of times that the server had to be launched again."""
        return max(0, self._launches - 1)

    def start(self) -> None:
        """Block until the server answers. On CompanionError the companion is stopped."""
        try:
            self._folder.wait_for_former()
            self._folder.clean()
            self._supervisor.start()
            self._started.result(_START_SECONDS)
        except TimeoutError:
            self.stop()
            raise CompanionError(f"Redis did not answer within {_START_SECONDS:g} s of starting") from None
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server, then unlock the state directory. A second call does nothing."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        with self._lock:
            process = self._process
        if process is not None:
            _end(process)
        if self._supervisor.ident is not None:
            self._supervisor.join()
            self._folder.clean()
        self._folder.close()

    def _supervise(self) -> None:
        wait = _FIRST_RELAUNCH_SECONDS
        failures = 0
        while not self._stopping.is_set():
            process = self._launch()
            if process is not None and self._wait_until_ready(process):
                wait = _FIRST_RELAUNCH_SECONDS
                failures = 0
                if not self._started.done():
                    self._started.set_result(None)
                self._wait_until_gone(process)
            else:
                failures += 1
            if self._stopping.is_set():
                return
            why = self._why_ended(process)
            logger.warning("Redis %s", why)
            if failures == _TRIES_TO_START and not self._started.done():
                self._started.set_exception(CompanionError(f"Redis did not start: it {why}"))
                return
            self._stopping.wait(wait)
            wait = min(2 * wait, _LONGEST_RELAUNCH_SECONDS)

    def _launch(self) -> "subprocess.Popen[bytes] | None":
        """Start a server process. Return None if the companion is stopping or the system cannot start a process now."""
        launcher = Path(__file__).with_name("launcher.py")
        with self._lock:
            if self._stopping.is_set():
                return None
            self._launches += 1
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", launcher, str(os.getpid()), self._folder.pid_file, *self._command],
                    cwd=self._folder.path,
                    env={**os.environ, **KEEP_PAGES},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            except OSError as error:
                # A temporary lack of descriptors, memory or processes.
                self._not_launched = str(error.strerror)
                return None
            return self._process

    def _why_ended(self, process: "subprocess.Popen[bytes] | None") -> str:
        if process is None:
            return f"could not be launched: {self._not_launched}"
        return f"ended with code {process.returncode}: {self._folder.log_tail()}"

    def _wait_until_gone(self, process: "subprocess.Popen[bytes]") -> None:
        """Wait until the server has ended. End a server whose socket was removed, because it cannot be reached."""
        while not self._stopping.is_set():
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_AT_SOCKET_SECONDS)
                return
            socket = self._address.unix_path
            if socket is not None and not socket.exists() and not self._stopping.is_set():
                logger.warning("the socket %s was removed; restarting Redis", socket)
                _end(process)
        process.wait()

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> bool:
        """Wait until the server answers. Return False if it ended first."""
        while process.poll() is None:
            try:
                connection = RespConnection(self._address, Timeouts())
                try:
                    connection.call(b"PING")
                finally:
                    connection.close()
            except (OSError, RedisError):
                self._stopping.wait(_LOOK_AGAIN_SECONDS)
            else:
                return True
        return False


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Let a server end, and kill it if that takes long."""
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        logger.warning("Redis did not end; killing it")
        process.kill()
