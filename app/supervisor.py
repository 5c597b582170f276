"""The process of `ebb serve` that a person starts: it keeps one server process running.

    claim the state directory and the port ──> fork a server process ──> wait until it ends
        exit by itself                  ──> exit with the same status
        crash, kill, wish for a restart ──> pause ──> fork again, at most `len(PAUSES)` times in WINDOW_SECONDS

The supervising process holds the listening socket: clients that connect between two server processes wait instead of
being refused. The kernel kills the server process when the supervising process dies (PR_SET_PDEATHSIG), so that
kill -9 of either leaves nothing behind. Nothing heavy is imported here: the supervising process takes about 20 MB.
"""

import ctypes
import errno
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from app.config import Settings
from app.log_lines import write_log
from app.state_lock import lock_state_dir
from engine.restart_budget import RestartBudget

RESTART = 75
"""Exit status (EX_TEMPFAIL) of a server process that handed its answers over and asks to be started again."""

PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each restart. The failure after the last one ends the supervising process."""

WINDOW_SECONDS = 600.0
"""Seconds after which a restart no longer counts."""

STOP_SECONDS = 20.0
"""Seconds that a server process has to end after the first signal. Its own limits add up to less."""

CLAIM_SECONDS = 3.0
"""Seconds that the server process of a killed supervising process has to die and release what it holds."""

_CLAIM_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1

logger = logging.getLogger(__name__)

Serve = Callable[[socket.socket], int]
"""Runs the server on a listening socket and returns its exit status."""


def supervise(settings: Settings, serve: Serve, restarts: RestartBudget | None = None) -> int:
    """Run `serve` in a process of its own, again if it fails, and return the exit status.

    Returns twice: in the supervising process, and in each server process with the status of `serve`.
    """
    restarts = restarts if restarts is not None else RestartBudget(PAUSES, WINDOW_SECONDS)
    write_log(settings.log_format)
    settings.make_directories()
    listener = claim(settings)
    if listener is None:
        return 1
    supervisor = Supervisor(listener)
    while True:
        parent = os.getpid()
        # Both processes would write text that is still buffered.
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child == 0:
            supervisor.become_server(parent)
            return serve(listener)
        status = supervisor.wait_for(child)
        if supervisor.stopping or not _worth_a_restart(status):
            return supervisor.exit_status(status)
        pause = restarts.spend(time.monotonic())
        if pause is None:
            logger.error("the server process %s; that was too often, giving up", _described(status))
            return supervisor.exit_status(status)
        logger.error("the server process %s; %s in %g s", _described(status), _in_words(restarts), pause)
        if supervisor.signalled_within(pause):
            return 0


class Supervisor:
    """The signals of the supervising process, which it takes one by one, and the server process that they are for.

    The first signal to stop is forwarded, also where the server process got it too (Ctrl-C in a terminal, systemd):
    there only the first one counts. The second signal kills the server process.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        to_stop = (signal.SIGTERM, signal.SIGINT, *not_ignored(signal.SIGHUP, signal.SIGQUIT))
        self._awaited = {signal.SIGCHLD, *to_stop}
        self._mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, self._awaited)
        self._stop_by: float | None = None
        self._killed_for: int | None = None

    @property
    def stopping(self) -> bool:
        """Whether a signal to stop has come."""
        return self._stop_by is not None

    def become_server(self, parent: int) -> None:
        """Undo in a forked process what is the supervising process's own, and bind its life to that of `parent`."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)
        # Until the server handles its signals, each of them ends it without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)

    def wait_for(self, child: int) -> int:
        """Forward signals to `child` until it ends; returns its wait status."""
        while True:
            number = self._next_signal(self._stop_by)
            if number is None:
                logger.error("the server process did not end within %g s: killed", STOP_SECONDS)
                self._kill(child, signal.SIGKILL)
            elif number != signal.SIGCHLD:
                self._stop(child, number)
            elif (status := _reaped(child)) is not None:
                return status

    def signalled_within(self, seconds: float) -> bool:
        """Sleep for `seconds`, or until a signal to stop comes; returns whether one came."""
        until = time.monotonic() + seconds
        while (number := self._next_signal(until)) is not None:
            if number != signal.SIGCHLD:
                return True
            _reaped(0)
        return False

    def exit_status(self, status: int) -> int:
        """Return the exit status that tells of a wait status as a shell does."""
        if self._killed_for is not None:
            return 128 + self._killed_for
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _next_signal(self, until: float | None) -> int | None:
        """Wait for a signal; None if there was none until `until`, a monotonic time."""
        if until is None:
            return signal.sigwaitinfo(self._awaited).si_signo
        found = signal.sigtimedwait(self._awaited, max(0.0, until - time.monotonic()))
        return found.si_signo if found is not None else None

    def _stop(self, child: int, number: int) -> None:
        if self._stop_by is None:
            self._stop_by = time.monotonic() + STOP_SECONDS
            # From now on clients are refused as soon as the server process no longer listens.
            self._listener.close()
            os.kill(child, number)
        else:
            logger.warning("stopping at once")
            self._kill(child, number)

    def _kill(self, child: int, reason: int) -> None:
        self._stop_by = time.monotonic() + STOP_SECONDS
        self._killed_for = reason
        os.kill(child, signal.SIGKILL)


def not_ignored(*signals: signal.Signals) -> list[signal.Signals]:
    """Return those of `signals` that the parent process did not tell this one to ignore, as nohup does."""
    return [each for each in signals if signal.getsignal(each) != signal.SIG_IGN]


def _reaped(child: int) -> int | None:
    """Reap all processes that have ended, orphans of a container included; returns the wait status of `child`."""
    found = None
    try:
        while (ended := os.waitpid(-1, os.WNOHANG))[0] != 0:
            if ended[0] == child:
                found = ended[1]
    except ChildProcessError:
        pass
    return found


def _worth_a_restart(status: int) -> bool:
    return os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == RESTART


def _in_words(restarts: RestartBudget) -> str:
    minutes = restarts.seconds / 60
    return f"starting it again ({restarts.num_spent} of {restarts.most} times in {minutes:g} minutes)"


def _described(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code == RESTART:
        return "asked for a restart"
    return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def claim(settings: Settings) -> socket.socket | None:
    """Lock the state directory and listen on the port, both for the life of this process; None if that cannot be.

    A server process whose supervising process was killed may still be dying: its end is waited for.
    """
    give_up = began = time.monotonic()
    try:
        while lock_state_dir(settings.state_dir) is None:
            give_up = began + CLAIM_SECONDS
            if time.monotonic() > give_up:
                logger.error("another ebb uses --state-dir %s", settings.state_dir)
                return None
            time.sleep(_CLAIM_POLL_SECONDS)
    except OSError as exc:
        logger.error("--state-dir %s cannot be used: %s", settings.state_dir, exc.strerror)
        return None
    while True:
        try:
            return listen_on(settings.host, settings.port)
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE or time.monotonic() > give_up:
                where, why = (settings.host, settings.port), exc.strerror
                logger.error("cannot listen on %s port %d: %s (--port chooses another)", *where, why)
                return None
        time.sleep(_CLAIM_POLL_SECONDS)


def listen_on(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the first address of `host`."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # From here on clients can connect, even before the first request can be read.
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener
