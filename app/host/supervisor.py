"""Supervising process of `ebb serve`, which keeps one server process running.

    fork the relay of the log, claim the state directory and the ports
    fork a server process ──> wait until it ends
        exit on its own                 ──> exit with the same status
        no memory, twice at one step    ──> exit with the same status
        crash, kill, request to restart ──> pause ──> fork again, at most `len(PAUSES)` times in WINDOW_SECONDS

The supervising process holds the listening sockets, so clients that connect during a restart wait instead of being
refused. The kernel kills the server process when the supervising process dies (PR_SET_PDEATHSIG), so kill -9 of either
leaves no process behind. This module imports nothing heavy, so the supervising process stays small.
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
from functools import partial

from app.config.options import SettingsError
from app.config.settings import Settings, lock_state_dir
from app.host.ended_server import RESTART, ServerEnds
from app.host.listeners import Listeners, listen_on
from app.host.process_limits import address_space_warning
from app.host.start_step import StartStep
from app.logs.log_lines import left_out_line, write_log
from app.logs.log_relay import relayed
from engine.process.restart_budget import RestartBudget

PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)
"""Seconds to pause before each restart. A failure after the last restart ends the supervising process."""

WINDOW_SECONDS = 600.0
"""Seconds after which a restart no longer counts."""

STOP_SECONDS = 20.0
"""Seconds within which a server process must exit after the first signal. Its own shutdown limits add up to less."""

CLAIM_SECONDS = 3.0
"""Seconds to wait for the server process of a killed supervisor to die and release its lock and port."""

_CLAIM_POLL_SECONDS = 0.05
_PR_SET_PDEATHSIG = 1

logger = logging.getLogger(__name__)

Serve = Callable[[Listeners, StartStep], int]
"""Runs the server on its listening sockets, reports the steps of its start, and returns its exit status."""


def supervise(settings: Settings, serve: Serve, restarts: RestartBudget | None = None) -> int:
    """Run `serve` in a forked process, restart it if it fails, and return the exit status.

    Like fork, this returns in both processes: in each server process, the result is the status of `serve`.

    restarts: budget of restarts; None means the default of PAUSES within WINDOW_SECONDS.
    """
    restarts = restarts if restarts is not None else RestartBudget(PAUSES, WINDOW_SECONDS)
    with relayed(partial(left_out_line, settings.log_format)):
        write_log(settings.log_format, settings.log_level)
        return _supervise(settings, serve, restarts)


def _supervise(settings: Settings, serve: Serve, restarts: RestartBudget) -> int:
    settings.make_directories()
    if warning := address_space_warning():
        logger.warning("%s", warning)
    listeners = claim(settings)
    if listeners is None:
        return 1
    supervisor = Supervisor(listeners)
    step = StartStep()
    ends = ServerEnds(step)
    while True:
        parent = os.getpid()
        # Otherwise both processes would write the buffered text.
        sys.stdout.flush()
        sys.stderr.flush()
        ends.began()
        child = os.fork()
        if child == 0:
            supervisor.become_server(parent)
            return serve(listeners, step)
        status = supervisor.wait_for(child)
        if supervisor.stopping or not _worth_a_restart(status):
            return supervisor.exit_status(status)
        reason = ends.note(status)
        if ends.is_hopeless:
            logger.error("the server process %s; the start before ended in the same way, giving up", reason)
            return supervisor.exit_status(status)
        pause = restarts.spend(time.monotonic())
        if pause is None:
            logger.error("the server process %s; too many restarts, giving up", reason)
            return supervisor.exit_status(status)
        logger.error("the server process %s; %s in %g s", reason, _in_words(restarts), pause)
        if supervisor.signalled_within(pause):
            return 0


class Supervisor:
    """Signal handling of the supervising process, which receives signals synchronously.

    The first stop signal is forwarded to the server process. The server may also receive it directly (Ctrl-C in a
    terminal, systemd), so it counts only the first one. The second stop signal kills the server process.
    """

    def __init__(self, listeners: Listeners) -> None:
        self._listeners = listeners
        to_stop = (signal.SIGTERM, signal.SIGINT, *not_ignored(signal.SIGHUP, signal.SIGQUIT))
        self._awaited = {signal.SIGCHLD, *to_stop}
        self._mask_before = signal.pthread_sigmask(signal.SIG_BLOCK, self._awaited)
        self._stop_by: float | None = None
        self._killed_for: int | None = None

    @property
    def stopping(self) -> bool:
        """Whether a stop signal has been received."""
        return self._stop_by is not None

    def become_server(self, parent: int) -> None:
        """Reset the signal handling in a forked process, and have the kernel kill it when `parent` dies."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:
            os._exit(1)
        # Until the server installs its handlers, each signal ends the process without a traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, self._mask_before)

    def wait_for(self, child: int) -> int:
        """Forward signals to `child` until it ends, and return its wait status."""
        while True:
            number = self._next_signal(self._stop_by)
            if number is None:
                self._kill(child, signal.SIGKILL)
                logger.error("the server process did not end within %g s and was killed", STOP_SECONDS)
            elif number != signal.SIGCHLD:
                self._stop(child, number)
            elif (status := _reaped(child)) is not None:
                return status

    def signalled_within(self, seconds: float) -> bool:
        """Sleep for `seconds` or until a stop signal arrives, and return whether one arrived."""
        until = time.monotonic() + seconds
        while (number := self._next_signal(until)) is not None:
            if number != signal.SIGCHLD:
                return True
            _reaped(0)
        return False

    def exit_status(self, status: int) -> int:
        """Convert a wait status to an exit status as a shell does: 128 plus the number of a fatal signal."""
        if self._killed_for is not None:
            return 128 + self._killed_for
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _next_signal(self, until: float | None) -> int | None:
        """Wait for a signal and return its number; None if none arrives before `until`.

        until: monotonic time; None waits indefinitely.
        """
        if until is None:
            return signal.sigwaitinfo(self._awaited).si_signo
        found = signal.sigtimedwait(self._awaited, max(0.0, until - time.monotonic()))
        return found.si_signo if found is not None else None

    def _stop(self, child: int, number: int) -> None:
        if self._stop_by is None:
            self._stop_by = time.monotonic() + STOP_SECONDS
            # Clients are now refused as soon as the server process closes its copies of the sockets.
            self._listeners.close()
            os.kill(child, number)
        else:
            self._kill(child, number)
            logger.warning("stopping at once")

    def _kill(self, child: int, reason: int) -> None:
        self._stop_by = time.monotonic() + STOP_SECONDS
        self._killed_for = reason
        os.kill(child, signal.SIGKILL)


def not_ignored(*signals: signal.Signals) -> list[signal.Signals]:
    """Return the signals that this process does not ignore. A parent such as nohup may have set some to be ignored."""
    return [each for each in signals if signal.getsignal(each) != signal.SIG_IGN]


def _reaped(child: int) -> int | None:
    """Reap all ended processes, including orphans in a container, and return the wait status of `child`.

    Returns None if `child` has not ended.
    """
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
    return f"restarting it ({restarts.num_spent} of {restarts.most} times in {minutes:g} minutes)"


def claim(settings: Settings) -> Listeners | None:
    """Lock the state directory and listen on the ports, for the life of this process.

    The server process of a killed supervisor may still be dying, so this retries for up to CLAIM_SECONDS.
    Returns the listening sockets; None if the directory or a port is unavailable, after logging the reason.
    """
    give_up = began = time.monotonic()
    try:
        while lock_state_dir(settings.state_dir) is None:
            give_up = began + CLAIM_SECONDS
            if time.monotonic() > give_up:
                logger.error("another ebb process is using --state-dir %s", settings.state_dir)
                return None
            time.sleep(_CLAIM_POLL_SECONDS)
    except SettingsError as exc:
        logger.error("%s", exc.message)
        return None
    main = _listener(settings.host, settings.port, "port", give_up)
    if main is None:
        return None
    if not settings.ollama_port:
        return Listeners(main)
    ollama = _listener(settings.host, settings.ollama_port, "ollama-port", give_up)
    if ollama is None:
        main.close()
        return None
    return Listeners(main, ollama)


def _listener(host: str, port: int, setting: str, give_up: float) -> socket.socket | None:
    """Listen on a port that a dying process may still hold; None if it is unavailable, after logging the reason.

    setting: name of the setting that chose the port.
    give_up: monotonic time until which to retry.
    """
    while True:
        try:
            return listen_on(host, port)
        except OSError as exc:
            if exc.errno != errno.EADDRINUSE or time.monotonic() > give_up:
                advice = (
                    "--host takes a name or an address of this machine"
                    if isinstance(exc, socket.gaierror) or exc.errno == errno.EADDRNOTAVAIL
                    else f"choose another port with --{setting}"
                )
                logger.error("cannot listen on %s port %d: %s (%s)", host, port, exc.strerror, advice)
                return None
        time.sleep(_CLAIM_POLL_SECONDS)
