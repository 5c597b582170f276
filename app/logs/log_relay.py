"""Relay of the log: a process that reads what all processes of a server write, and writes it to standard error.

    supervisor, server, ranks, replicas ── stdout, stderr ──> pipe ──> LineQueue ──> standard error of `ebb serve`

A terminal that Ctrl-S has stopped, a pager, a log driver or a hung disk may take no more text. A process that wrote
to it directly would stop, and the event loop with it. The relay always reads its pipe, and leaves out the lines that do
not fit into its queue. Lines of a process that crashes or is killed are already in the pipe.
"""

import ctypes
import os
import select
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final, NoReturn

CAPACITY: Final = 4 << 20
"""Bytes of lines that wait to be written, about 27,000 lines."""

FLUSH_SECONDS: Final = 1.0
"""Seconds that the last lines have to be written at the end."""

RELAY_NAME: Final = "ebb-log"
"""Name of the process, as `ps` shows it."""

_PIECE: Final = 1 << 16
_LONGEST_LINE: Final = 1 << 20
_PR_SET_NAME: Final = 15
_IGNORED: Final = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    # Sent by a terminal that lets no background process write to it.
    signal.SIGTTOU,
)

Notice = Callable[[int], str]
"""Makes a line for the log from the number of lines that were left out."""


@contextmanager
def relayed(notice: Notice, capacity: int = CAPACITY) -> Iterator[None]:
    """Redirect the standard output and error of this process, and of all below it, to a relay.

    Call in a process of one thread. At the end of the block, the process that entered it waits for the last lines, for
    little more than FLUSH_SECONDS. A process that was forked within the block leaves the relay running.

    capacity: see CAPACITY.
    """
    source, sink = os.pipe()
    life, other_end = socket.socketpair()
    real = os.dup(1), os.dup(2)
    _flush()
    if os.fork() == 0:
        os.close(sink)
        life.close()
        _relay(source, other_end, LineQueue(capacity, notice))
    os.close(source)
    other_end.close()
    owner = os.getpid()
    _redirect(sink, sink)
    try:
        yield
    finally:
        if os.getpid() == owner:
            _flush()
            _redirect(*real)
            _wait_for_relay(life)
        life.close()


class LineQueue:
    """Lines that wait to be written. A line that does not fit, and all until the queue is empty, are counted."""

    def __init__(self, capacity: int, notice: Notice) -> None:
        """Make an empty queue.

        capacity: bytes of all waiting lines together.
        notice: makes the line in place of those that were left out.
        """
        self._capacity = capacity
        self._notice = notice
        self._changed = threading.Condition()
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._left_out = 0
        self._has_ended = False

    def put(self, line: bytes) -> None:
        """Add a line, or count it as left out. Never wait for the reader."""
        with self._changed:
            if self._left_out or self._size + len(line) > self._capacity:
                self._left_out += 1
            else:
                self._lines.append(line)
                self._size += len(line)
            self._changed.notify()

    def end(self) -> None:
        """State that no line follows."""
        with self._changed:
            self._has_ended = True
            self._changed.notify()

    def take(self) -> bytes:
        """Wait for lines, then remove and return all; b"" after the last ones."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._left_out or self._has_ended)
            if self._left_out and not self._lines:
                notice, self._left_out = self._notice(self._left_out), 0
                return f"{notice}\n".encode()
            text = b"".join(self._lines)
            self._lines.clear()
            self._size = 0
            return text


def _relay(source: int, life: socket.socket, lines: LineQueue) -> NoReturn:
    """Be the relay until the processes that hold the other end of `life` have ended, or one announces the end."""
    try:
        for each in _IGNORED:
            signal.signal(each, signal.SIG_IGN)
        ctypes.CDLL(None).prctl(_PR_SET_NAME, RELAY_NAME.encode(), 0, 0, 0)
        writer = threading.Thread(target=_write_all, args=(lines,), daemon=True)
        writer.start()
        _read_all(source, life, lines)
        lines.end()
        writer.join(FLUSH_SECONDS)
    finally:
        os._exit(0)


def _read_all(source: int, life: socket.socket, lines: LineQueue) -> None:
    """Queue what `source` has until `life` ends. A shared replica, which outlives the server, keeps `source` open."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(life, select.POLLIN)
    rest = b""
    while source in dict(poll.poll()) and (piece := os.read(source, _PIECE)):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            lines.put(line + b"\n")
        if len(rest) > _LONGEST_LINE:
            lines.put(rest)
            rest = b""
    if rest:
        lines.put(rest)


def _write_all(lines: LineQueue) -> None:
    """Write to the standard error what `lines` has. Nothing is left to do for text that it refuses."""
    while text := lines.take():
        with suppress(OSError):
            _write(memoryview(text))


def _write(text: memoryview) -> None:
    while text:
        # Another program that has the same file may have made it non-blocking.
        select.select([], [2], [])
        with suppress(BlockingIOError):
            text = text[os.write(2, text) :]


def _redirect(output: int, errors: int) -> None:
    """Let descriptors 1 and 2 stand for other files, and close the descriptors that these had."""
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for each in {output, errors}:
        os.close(each)


def _flush() -> None:
    """Write buffered text. Otherwise a forked process would write it again, or the wrong file would get it."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()


def _wait_for_relay(life: socket.socket) -> None:
    """Announce the end, and wait until the relay has written the last lines or gives up."""
    life.shutdown(socket.SHUT_WR)
    life.settimeout(FLUSH_SECONDS + 1.0)
    with suppress(OSError):
        life.recv(1)
